package stock_test

import (
	"maps"
	"testing"

	"example.org/depot/stock"
)

func TestAllHasEveryArticle(t *testing.T) {
	depot := stock.New(map[string]int{"bolt": 4, "nut": 0})
	depot.Add("pin", 2)
	if all := depot.All(); !maps.Equal(all, map[string]int{"bolt": 4, "nut": 0, "pin": 2}) {
		t.Error(all)
	}
}

func TestWhatTheCallerDoesToItIsItsOwn(t *testing.T) {
	depot := stock.New(map[string]int{"bolt": 4})
	all := depot.All()
	all["bolt"] = 100
	delete(all, "nut")
	all["pin"] = 1
	if depot.Count("bolt") != 4 || depot.Count("pin") != 0 || len(depot.All()) != 1 {
		t.Error(depot.All())
	}
}

func TestItStaysAsItWas(t *testing.T) {
	depot := stock.New(map[string]int{"bolt": 4})
	all := depot.All()
	depot.Add("bolt", 1)
	depot.Add("nut", 1)
	if !maps.Equal(all, map[string]int{"bolt": 4}) {
		t.Error(all)
	}
}

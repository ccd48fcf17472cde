package stock_test

import (
	"testing"

	"example.org/depot/stock"
)

func TestANegativeCountIsRefused(t *testing.T) {
	for _, order := range []stock.Order{{"bolt": -1}, {"bolt": 1, "nut": -5}, {"gone": -2}} {
		depot := stock.New(map[string]int{"bolt": 4, "nut": 4})
		if err := depot.Take(order); err == nil {
			t.Errorf("%v was taken", order)
		}
		if depot.Count("nut") != 4 || depot.Count("gone") != 0 || depot.Count("bolt") > 4 {
			t.Errorf("after %v there is %v", order, depot.All())
		}
	}
}

func TestOrdersAreTakenAsBefore(t *testing.T) {
	depot := stock.New(map[string]int{"bolt": 4})
	if err := depot.Take(stock.Order{"bolt": 4}); err != nil || depot.Count("bolt") != 0 {
		t.Error(err, depot.Count("bolt"))
	}
	if err := depot.Take(stock.Order{"bolt": 1}); err == nil {
		t.Error("there was none left")
	}
}

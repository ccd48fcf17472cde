package stock_test

import (
	"errors"
	"fmt"
	"testing"

	"example.org/depot/stock"
)

// order wants one of many articles, and more than there is of some: maps have no order of their own.
func order(missing ...string) stock.Order {
	wanted := stock.Order{}
	for number := range [50]int{} {
		wanted[fmt.Sprint("part", number)] = 1
	}
	for _, name := range missing {
		wanted[name] = 3
	}
	return wanted
}

func depot() *stock.Depot {
	held := map[string]int{}
	for name := range order() {
		held[name] = 2
	}
	return stock.New(held)
}

func TestAnOrderThatFailsTakesNothing(t *testing.T) {
	for _, missing := range [][]string{{"gone"}, {"part7"}, {"part0", "part49", "gone"}} {
		held := depot()
		var short *stock.ShortError
		if err := held.Take(order(missing...)); !errors.As(err, &short) {
			t.Fatalf("%v is no ShortError", err)
		}
		for name := range order() {
			if held.Count(name) != 2 {
				t.Fatalf("%d of %s are left of 2", held.Count(name), name)
			}
		}
		if held.Count("gone") != 0 {
			t.Fatal(held.Count("gone"))
		}
	}
}

func TestTheErrorSaysWhatIsShort(t *testing.T) {
	var short *stock.ShortError
	if err := depot().Take(order("part7")); !errors.As(err, &short) || short.Name != "part7" || short.Want != 3 || short.Have != 2 {
		t.Error(err)
	}
}

func TestAnOrderThatCanBeFilledIsFilled(t *testing.T) {
	held := depot()
	for range [2]int{} {
		if err := held.Take(order()); err != nil {
			t.Fatal(err)
		}
	}
	for name := range order() {
		if held.Count(name) != 0 {
			t.Fatalf("%d of %s are left", held.Count(name), name)
		}
	}
}

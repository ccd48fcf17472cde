package stock

import "testing"

func TestAdd(t *testing.T) {
	depot := New(map[string]int{"bolt": 40})
	depot.Add("bolt", 2)
	depot.Add("nut", 12)
	if depot.Count("bolt") != 42 || depot.Count("nut") != 12 {
		t.Error(depot.Count("bolt"), depot.Count("nut"))
	}
}

package retry

import (
	"errors"
	"testing"
)

func failing(times int) (func() error, *int) {
	calls := 0
	return func() error {
		calls++
		if calls <= times {
			return errors.New("not yet")
		}
		return nil
	}, &calls
}

func TestDoStopsAtTheFirstSuccess(t *testing.T) {
	f, calls := failing(2)
	if err := (Policy{Attempts: 5}).Do(f); err != nil || *calls != 3 {
		t.Errorf("%d calls, %v", *calls, err)
	}
}

func TestDoGivesUp(t *testing.T) {
	f, calls := failing(9)
	if err := (Policy{Attempts: 4}).Do(f); err == nil || *calls != 4 {
		t.Errorf("%d calls, %v", *calls, err)
	}
}

package retry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.org/retry"
)

var errBusy = errors.New("busy")

type refused struct{ code int }

func (r refused) Error() string { return fmt.Sprint("refused with ", r.code) }

func last(attempts int, err error) error {
	policy := retry.Policy{Attempts: attempts}
	return policy.DoContext(context.Background(), func(context.Context) error { return err })
}

func TestTheCauseIsFound(t *testing.T) {
	for _, attempts := range []int{1, 3} {
		if err := last(attempts, errBusy); !errors.Is(err, errBusy) {
			t.Errorf("%d calls: %v is not %v", attempts, err, errBusy)
		}
	}
}

func TestTheCauseIsFoundByItsType(t *testing.T) {
	var found refused
	if err := last(2, refused{code: 503}); !errors.As(err, &found) || found.code != 503 {
		t.Errorf("%v is no %T", err, found)
	}
}

func TestTheSentenceIsAsBefore(t *testing.T) {
	if err := last(2, errBusy); err == nil || !strings.Contains(err.Error(), "gave up after 2 calls: busy") {
		t.Error(err)
	}
}

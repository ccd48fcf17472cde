package retry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.org/retry"
)

// A wait that nobody would sit out, and the time within which its end has to be noticed.
const (
	long   = time.Hour
	enough = 4 * time.Second
)

func ended(t *testing.T, ctx context.Context, policy retry.Policy) (error, int) {
	t.Helper()
	calls := 0
	told := make(chan error, 1)
	go func() {
		told <- policy.DoContext(ctx, func(context.Context) error {
			calls++
			return errors.New("busy")
		})
	}()
	select {
	case err := <-told:
		return err, calls
	case <-time.After(enough):
		t.Fatal("it goes on waiting")
		return nil, 0
	}
}

func TestAContextThatIsCancelledEndsTheWait(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	err, calls := ended(t, ctx, retry.Policy{Attempts: 3, Wait: long, Factor: 1})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestADeadlineEndsTheWait(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err, calls := ended(t, ctx, retry.Policy{Attempts: 3, Wait: long, Factor: 1})
	if !errors.Is(err, context.DeadlineExceeded) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestWaitsAreStillWaited(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begun := time.Now()
	_, calls := ended(t, ctx, retry.Policy{Attempts: 3, Wait: 100 * time.Millisecond, Factor: 1})
	if took := time.Since(begun); calls != 3 || took < 200*time.Millisecond {
		t.Errorf("%d calls in %v", calls, took)
	}
}

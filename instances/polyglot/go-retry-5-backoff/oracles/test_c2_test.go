package retry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.org/retry"
)

const wait = 100 * time.Millisecond

// took is the time that a policy's four calls take with its three waits.
func took(policy retry.Policy, withContext bool) time.Duration {
	policy.Attempts, policy.Wait = 4, wait
	begun := time.Now()
	fail := func() error { return errors.New("busy") }
	if withContext {
		policy.DoContext(context.Background(), func(context.Context) error { return fail() })
	} else {
		policy.Do(fail)
	}
	return time.Since(begun)
}

func TestAPolicyOfTodayWaitsEachTime(t *testing.T) {
	if found := took(retry.Policy{}, false); found < 3*wait {
		t.Errorf("three waits of %v took %v", wait, found)
	}
}

func TestItDoesSoWithAContext(t *testing.T) {
	if found := took(retry.Policy{}, true); found < 3*wait {
		t.Errorf("three waits of %v took %v", wait, found)
	}
}

func TestWithoutAFactorNoWaitGrows(t *testing.T) {
	within(t, func() { retry.Policy{Attempts: 15, Wait: wait / 10}.Do(func() error { return errors.New("busy") }) })
}

func TestAFactorStillMakesThemGrow(t *testing.T) {
	if found := took(retry.Policy{Factor: 2}, false); found < 7*wait {
		t.Errorf("waits of %v that double took %v", wait, found)
	}
}

func TestTheLimitHolds(t *testing.T) {
	within(t, func() { took(retry.Policy{Factor: 1000, Max: wait}, false) })
}

// within fails a test whose calls take much longer than any machine needs for their waits.
func within(t *testing.T, calls func()) {
	t.Helper()
	done := make(chan bool, 1)
	go func() {
		calls()
		done <- true
	}()
	select {
	case <-done:
	case <-time.After(100 * wait):
		t.Error("the waits grow")
	}
}

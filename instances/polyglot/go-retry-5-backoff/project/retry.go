// Package retry calls a function again until it succeeds.
package retry

import "time"

// A Policy says how often a function is called, and how long is waited between two calls.
type Policy struct {
	// Attempts is the number of calls; less than 1 is 1.
	Attempts int
	// Wait is the time between two calls.
	Wait time.Duration
}

// Do calls f until it returns nil, and returns the last error where it never does.
func (p Policy) Do(f func() error) error {
	err := f()
	for call := 1; err != nil && call < p.Attempts; call++ {
		time.Sleep(p.Wait)
		err = f()
	}
	return err
}

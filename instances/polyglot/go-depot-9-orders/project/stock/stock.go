// Package stock counts what there is of each article.
package stock

import "sync"

// A Depot is what is in stock. It is safe for several goroutines.
type Depot struct {
	mu    sync.Mutex
	items map[string]int
}

// New makes a depot that holds so much of each article.
func New(items map[string]int) *Depot {
	depot := &Depot{items: make(map[string]int, len(items))}
	for name, count := range items {
		depot.items[name] = count
	}
	return depot
}

// Add puts some of an article in.
func (d *Depot) Add(name string, count int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.items[name] += count
}

// Count is how much of an article there is.
func (d *Depot) Count(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.items[name]
}

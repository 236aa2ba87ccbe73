package catalog

import (
	"context"
	"slices"
	"sync"
)

// Memory is a Store that ends with the process: two catalogues of one process can share it. The zero value is empty.
type Memory struct {
	mu      sync.Mutex
	records map[string]Record
}

var _ Store = (*Memory)(nil)

// Load is as Store says; it never fails.
func (m *Memory) Load(_ context.Context, keys []string) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Record
	for _, key := range keys {
		if r, ok := m.records[key]; ok {
			out = append(out, r)
		}
	}
	return out, nil
}

// Save is as Store says; it never fails.
func (m *Memory) Save(_ context.Context, records ...Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = make(map[string]Record)
	}
	for _, r := range records {
		r.Data = slices.Clone(r.Data)
		m.records[r.Key] = r
	}
	return nil
}

package flow

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Memory is a Store that ends with the process. It is safe for concurrent use.
type Memory struct {
	stamp atomic.Uint64
	mu    sync.Mutex
	marks map[string][]Mark
}

var (
	_ Store   = (*Memory)(nil)
	_ Stamper = (*Memory)(nil)
)

// NewMemory makes an empty one.
func NewMemory() *Memory { return &Memory{marks: map[string][]Mark{}} }

// Stamp counts what was added.
func (m *Memory) Stamp() uint64 { return m.stamp.Load() }

// Load returns what was added under the key.
func (m *Memory) Load(_ context.Context, key string) ([]Mark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.marks[key]), nil
}

// Add keeps marks. Those whose keys and sources are known already are joined with them.
func (m *Memory) Add(_ context.Context, key string, marks []Mark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.marks[key]
	for _, mark := range marks {
		kept = join(kept, mark)
	}
	m.marks[key] = kept
	m.stamp.Add(1)
	return nil
}

// join adds one mark to a list that it may change.
func join(all []Mark, m Mark) []Mark {
	i := slices.IndexFunc(all, func(o Mark) bool { return o.Source == m.Source })
	if i < 0 {
		return append(all, m)
	}
	all[i].Labels |= m.Labels
	if m.At.After(all[i].At) {
		all[i].At = m.At
	}
	return all
}

package approval

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Memory is a Store that ends with the process: several queues of one process can share it. The zero value is empty.
type Memory struct {
	mu   sync.Mutex
	rows map[string]Row
	args map[string][]byte
}

var _ Store = (*Memory)(nil)

// Read is as Store says.
func (m *Memory) Read(ctx context.Context, f func(Tx) error) error {
	return m.do(ctx, f, false)
}

// Write is as Store says.
func (m *Memory) Write(ctx context.Context, f func(Tx) error) error {
	return m.do(ctx, f, true)
}

// do works on copies, so that what f did can be undone.
func (m *Memory) do(ctx context.Context, f func(Tx) error, keep bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	tx := &memoryTx{rows: m.rows, args: m.args}
	if keep {
		tx.rows, tx.args = maps.Clone(m.rows), maps.Clone(m.args)
	}
	if tx.rows == nil {
		tx.rows, tx.args = map[string]Row{}, map[string][]byte{}
	}
	err := f(tx)
	if err == nil && keep {
		m.rows, m.args = tx.rows, tx.args
	}
	return err
}

type memoryTx struct {
	rows map[string]Row
	args map[string][]byte
}

var _ Tx = (*memoryTx)(nil)

func (t *memoryTx) Get(id string) (Row, error) {
	row, ok := t.rows[id]
	if !ok {
		return Row{}, ErrUnknown
	}
	return row, nil
}

func (t *memoryTx) Find(key string) ([]Row, error) {
	return t.where(func(r Row) bool { return r.Key == key }), nil
}

func (t *memoryTx) All() ([]Row, error) {
	return t.where(func(Row) bool { return true }), nil
}

func (t *memoryTx) where(holds func(Row) bool) []Row {
	var out []Row
	for _, row := range t.rows {
		if holds(row) {
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b Row) int {
		if c := a.Asked.Compare(b.Asked); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

func (t *memoryTx) Put(row Row) error {
	row.Body = bytes.Clone(row.Body)
	t.rows[row.ID] = row
	return nil
}

func (t *memoryTx) Delete(id string) error {
	delete(t.rows, id)
	delete(t.args, id)
	return nil
}

func (t *memoryTx) Args(id string) ([]byte, error) { return t.args[id], nil }

func (t *memoryTx) SetArgs(id string, args []byte) error {
	if args == nil {
		delete(t.args, id)
	} else {
		t.args[id] = bytes.Clone(args)
	}
	return nil
}

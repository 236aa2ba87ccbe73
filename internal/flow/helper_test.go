package flow_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/usher-mcp/usher/internal/flow"
	"github.com/usher-mcp/usher/permission"
)

var (
	send = permission.Target{Server: "net", Tool: "send"}
	post = permission.Target{Server: "net", Tool: "post"}
)

func newBook(t testing.TB, store flow.Store) *flow.Book {
	return flow.New(t.Context(), flow.Options{Store: store})
}

func took(t testing.TB, s *flow.Session, server string, labels flow.Labels) {
	t.Helper()
	if err := s.Took(flow.Server(server), labels); err != nil {
		t.Fatal(err)
	}
}

func wrote(t testing.TB, s *flow.Session, server string) {
	t.Helper()
	if err := s.Wrote(flow.Server(server)); err != nil {
		t.Fatal(err)
	}
}

const both = flow.Untrusted | flow.Private

// failing is a Store that fails when told to.
type failing struct {
	*flow.Memory
	load, add atomic.Bool
	adds      atomic.Int64
	longest   atomic.Int64 // key
}

var errBroken = errors.New("the disk is full")

func (f *failing) Load(ctx context.Context, key string) ([]flow.Mark, error) {
	if f.load.Load() {
		return nil, errBroken
	}
	return f.Memory.Load(ctx, key)
}

func (f *failing) Add(ctx context.Context, key string, marks []flow.Mark) error {
	if f.add.Load() {
		return errBroken
	}
	f.adds.Add(1)
	f.longest.Store(max(f.longest.Load(), int64(len(key))))
	return f.Memory.Add(ctx, key, marks)
}

// slow is a Store without a Stamp.
type slow struct{ m *flow.Memory }

func (s slow) Load(ctx context.Context, key string) ([]flow.Mark, error) { return s.m.Load(ctx, key) }
func (s slow) Add(ctx context.Context, key string, marks []flow.Mark) error {
	return s.m.Add(ctx, key, marks)
}

package flow_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/internal/flow"
)

// security.md §8: whoever only looks sees what a session would begin with, and makes nobody remember it for longer.
func TestLikeOnlyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &failing{Memory: flow.NewMemory()}
		b := newBook(t, store)
		s := b.Session("", "agent")
		took(t, s, "mail", both)
		s.Close()
		time.Sleep(50 * time.Minute)
		adds := store.adds.Load()
		if got := b.Like("", "agent").Labels(); got != both {
			t.Errorf("it sees %v", got)
		}
		if n := store.adds.Load() - adds; n != 0 {
			t.Errorf("it wrote %d times", n)
		}
		time.Sleep(50 * time.Minute)
		if got := b.Session("", "agent").Labels(); got != 0 {
			t.Errorf("100 minutes later a session begins with %v", got)
		}
	})
}

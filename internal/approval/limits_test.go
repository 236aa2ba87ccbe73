package approval_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/permission"
)

func numbered(session string, i int) permission.Question {
	q := question()
	q.Session, q.Args = session, fmt.Appendf(nil, `{"n":%d}`, i)
	return q
}

// flood asks different questions until it is refused, and returns how many were taken.
func flood(t *testing.T, q *approval.Queue, ask func(i int) permission.Question) (n int, refused *approval.Full) {
	t.Helper()
	for ; n < 2000; n++ {
		_, err := q.Ask(t.Context(), ask(n), nil)
		if full, ok := errors.AsType[*approval.Full](err); ok {
			return n, full
		}
		if _, ok := errors.AsType[*approval.Open](err); !ok {
			t.Fatal(err)
		}
	}
	t.Fatal("no end")
	return n, nil
}

// A flood of questions is refused, in words that say what to do; other sessions, and then other clients, still ask.
func TestFlood(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := approval.New(approval.Options{Elsewhere: true})
		n, full := flood(t, q, func(i int) permission.Question { return numbered("s_1", i) })
		if n != 20 || full.Of != "this session" || !strings.Contains(full.Error(), "answer some of them") {
			t.Errorf("%d, %v", n, full)
		}
		opens(t, q, numbered("s_1", 0)) // the same question isn't another one
		opens(t, q, numbered("s_2", 0))
		n, full = flood(t, q, func(i int) permission.Question { return numbered(fmt.Sprint("t_", i), i) })
		if n != 79 || full.Of != "this client" {
			t.Errorf("%d, %v", n, full)
		}
		other := question()
		other.Client = "other"
		opens(t, q, other)
		n, full = flood(t, q, func(i int) permission.Question {
			q := numbered(fmt.Sprint("u_", i), i)
			q.Client = fmt.Sprint("client ", i)
			return q
		})
		if n != 399 || full.Of != "usher" {
			t.Errorf("%d, %v", n, full)
		}
		waiting(t, q, 500)
		time.Sleep(keep)
		opens(t, q, numbered("s_1", 100))
		waiting(t, q, 1)
	})
}

// Arguments are kept whole up to 16 MiB, and bounded in all.
func TestFloodOfBytes(t *testing.T) {
	q := approval.New(approval.Options{Elsewhere: true})
	big := []byte(`"` + strings.Repeat("x", 16<<20-3) + `"`)
	n, full := flood(t, q, func(i int) permission.Question {
		q := question()
		big[1] = byte('a' + i)
		q.Args = big
		return q
	})
	if n != 3 || full.Bytes != 3*int64(len(big)) {
		t.Errorf("%d, %v", n, full)
	}
	asked := question()
	asked.Args = append(big, "   "...)
	if _, err := q.Ask(t.Context(), asked, nil); err == nil || !strings.Contains(err.Error(), "16777216") {
		t.Errorf("%v", err)
	}
	asked = question()
	asked.Session = "s_2"
	asked.Title = strings.Repeat("x", 1<<20)
	if _, err := q.Ask(t.Context(), asked, nil); err == nil || !strings.Contains(err.Error(), "65536") {
		t.Errorf("%v", err)
	}
}

// What has ended doesn't add up: an agent that is told no again and again.
func TestEndedAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := approval.New(approval.Options{Elsewhere: true})
		for i := range 700 {
			answer(t, q, opens(t, q, numbered("s_1", i)), false)
		}
		all, err := q.List(t.Context(), approval.Denied)
		if err != nil || len(all) > 501 {
			t.Errorf("%d, %v", len(all), err)
		}
		time.Sleep(25 * time.Hour)
		opens(t, q, question())
		if all, err := q.List(t.Context(), approval.Denied, approval.Expired); err != nil || len(all) != 0 {
			t.Errorf("%d, %v", len(all), err)
		}
	})
}

// failing is a Store that fails from its nth use on.
type failing struct {
	approval.Store
	left int
}

var errDisk = errors.New("the disk is gone")

func (f *failing) use() error {
	if f.left--; f.left < 0 {
		return errDisk
	}
	return nil
}

func (f *failing) Read(ctx context.Context, do func(approval.Tx) error) error {
	if err := f.use(); err != nil {
		return err
	}
	return f.Store.Read(ctx, do)
}

// Write does its work and then can't keep it.
func (f *failing) Write(ctx context.Context, do func(approval.Tx) error) error {
	return f.Store.Write(ctx, func(tx approval.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		return f.use()
	})
}

// Nothing passes that isn't on record, wherever the Store fails.
func TestStoreFails(t *testing.T) {
	yes := permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) {
		return permission.Answer{Allow: true}, nil
	})
	passed := false
	for left := range 8 {
		q := approval.New(approval.Options{Store: &failing{new(approval.Memory), left}, Wait: wait, Elsewhere: true})
		a, err := q.Ask(t.Context(), question(), []permission.Asker{yes})
		if a.Allow != (err == nil) || err != nil && !errors.Is(err, errDisk) {
			t.Errorf("after %d: %+v, %v", left, a, err)
		}
		passed = passed || a.Allow
	}
	if !passed {
		t.Error("none passed")
	}
	store := new(approval.Memory)
	q := approval.New(approval.Options{Store: store, Elsewhere: true})
	answer(t, q, opens(t, q, question()), true)
	broken := approval.New(approval.Options{Store: &failing{store, 0}, Elsewhere: true})
	if a, err := broken.Ask(t.Context(), question(), nil); a.Allow || !errors.Is(err, errDisk) {
		t.Errorf("a yes that can't be used up: %+v, %v", a, err)
	}
	passes(t, q, question())
}

// Arguments that changed on the disk aren't shown as those that were asked about.
func TestArgumentsChanged(t *testing.T) {
	store := new(approval.Memory)
	q := approval.New(approval.Options{Store: store, Elsewhere: true})
	id := opens(t, q, question())
	if err := store.Write(t.Context(), func(tx approval.Tx) error { return tx.SetArgs(id, []byte(`{"a":2}`)) }); err != nil {
		t.Fatal(err)
	}
	if r, err := q.Show(t.Context(), id); err == nil || r.Args != nil {
		t.Errorf("%s, %v", r.Args, err)
	}
}

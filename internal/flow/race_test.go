package flow_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/usher-mcp/usher/internal/flow"
	"github.com/usher-mcp/usher/permission"
)

// What one call brought is there before another call, of this session or of another one of its client, can know it:
// whoever has seen that Took returned finds it.
func TestTakenBeforeSeen(t *testing.T) {
	store := flow.NewMemory()
	for round := range 200 {
		client := fmt.Sprint("c", round)
		book := newBook(t, store)
		s := book.Session("p", client)
		sessions := []*flow.Session{s, book.Session("p", client), newBook(t, store).Session("p", client)}
		var seen atomic.Int64
		var wg sync.WaitGroup
		for i := range 4 { // calls in flight, of which each brings a source of its own
			wg.Go(func() {
				if err := s.Took(flow.Server(fmt.Sprint("source", i)), both); err != nil {
					t.Error(err)
				}
				seen.Or(1 << i)
			})
		}
		for _, reader := range sessions {
			wg.Go(func() {
				for known := int64(0); known != 15; {
					known = seen.Load()
					f := reader.Check(send, flow.ClosedSink)
					for i := range 4 {
						if known&(1<<i) != 0 && !names(f, fmt.Sprint("source", i)) {
							t.Errorf("source%d was seen by the caller, but not by a check: %+v", i, f)
							return
						}
					}
				}
			})
		}
		wg.Wait()
	}
}

func names(f *flow.Flow, source string) bool {
	if f == nil {
		return false
	}
	for _, s := range f.Private {
		if s == source {
			return true
		}
	}
	return false
}

// A reader whose answer can hold what another session wrote holds its taint, however both are interleaved: Wrote comes
// before the write, the second Took after the read.
func TestWrittenBeforeRead(t *testing.T) {
	for range 300 {
		book := newBook(t, nil)
		writer, reader := book.Session("p", "w"), book.Session("p", "r")
		took(t, writer, "mail", both)
		var notes atomic.Bool // the server: it holds what was written
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := writer.Wrote(flow.Server("notes")); err != nil {
				t.Error(err)
			}
			notes.Store(true)
		})
		wg.Go(func() {
			if err := reader.Took(flow.Server("notes"), flow.Untrusted); err != nil {
				t.Error(err)
			}
			answer := notes.Load()
			if err := reader.Took(flow.Server("notes"), flow.Untrusted); err != nil {
				t.Error(err)
			}
			if answer && reader.Check(send, flow.ClosedSink) == nil {
				t.Error("the answer held what was written, and the session doesn't know")
			}
		})
		wg.Wait()
	}
}

// Everything at once, for the race detector; in the end each session holds all of its client's.
func TestAllAtOnce(t *testing.T) {
	store := flow.NewMemory()
	book := newBook(t, store)
	keep := book.Session("p", "c")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				s := book.Session("p", "c")
				_ = s.Took(flow.Server(fmt.Sprint("s", i)), both)
				_ = s.Wrote(flow.Server("notes"))
				s.Accepted(s.Check(permission.Target{Server: "net", Tool: fmt.Sprint(n)}, flow.OpenSink))
				_ = s.Marks()
				s.Close()
			}
		})
	}
	wg.Wait()
	if got := len(keep.Marks()); got != 8 {
		t.Errorf("it holds %d sources", got)
	}
	reader := book.Session("p", "reader")
	took(t, reader, "notes", 0)
	if got := len(reader.Marks()); got != 8 {
		t.Errorf("notes carries %d sources", got)
	}
}

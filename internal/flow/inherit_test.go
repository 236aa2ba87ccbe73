package flow_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/internal/flow"
)

// stores are shared by two hosts.
func stores() map[string]flow.Store {
	return map[string]flow.Store{"stamped": flow.NewMemory(), "unstamped": slow{flow.NewMemory()}}
}

// A client still knows what its session took in: sessions that begin within the hour begin with it, in whatever process.
func TestInherit(t *testing.T) {
	for name, store := range stores() {
		synctest.Test(t, func(t *testing.T) {
			book, elsewhere := newBook(t, store), newBook(t, store)
			s := book.Session("p", "c")
			took(t, s, "mail", both)
			s.Close()
			time.Sleep(59 * time.Minute)
			for _, b := range []*flow.Book{book, elsewhere, newBook(t, store)} {
				if b.Session("p", "c").Labels() != both {
					t.Errorf("%s: a session that began within the hour is clean", name)
				}
				if b.Session("p", "other").Labels() != 0 || b.Session("other", "c").Labels() != 0 {
					t.Errorf("%s: somebody else's is not", name)
				}
			}
			time.Sleep(62 * time.Minute)
			if got := newBook(t, store).Session("p", "c").Labels(); got != 0 {
				t.Errorf("%s: after two hours it holds %v", name, got)
			}
		})
	}
}

// The hour runs from the end of a session, and doesn't run while one is open.
func TestInheritFromOpenSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := flow.NewMemory()
		book := newBook(t, store)
		s := book.Session("p", "c")
		took(t, s, "mail", both)
		closed := book.Session("q", "c")
		took(t, closed, "mail", both)
		time.Sleep(5 * time.Hour)
		if book.Session("p", "c").Labels() != both {
			t.Error("while the session is open a new one is clean")
		}
		closed.Close()
		if newBook(t, store).Session("q", "c").Labels() != both {
			t.Error("at the end of a session that was long silent a new one is clean")
		}
		s.Close()
		s.Close()
		time.Sleep(30 * time.Minute)
		if newBook(t, store).Session("p", "c").Labels() != both {
			t.Error("half an hour after its end a new one is clean")
		}
	})
}

// A client that has a session with each server, as several processes: what one takes in, all hold.
func TestSessionsOfOneClientAtOnce(t *testing.T) {
	for name, store := range stores() {
		a, b := newBook(t, store).Session("p", "c"), newBook(t, store).Session("p", "c")
		if b.Check(send, flow.OpenSink) != nil {
			t.Errorf("%s: clean, and asks", name)
		}
		took(t, a, "mail", both)
		if b.Check(send, flow.ClosedSink) == nil {
			t.Errorf("%s: the other session doesn't know", name)
		}
		wrote(t, b, "notes")
		unasked := newBook(t, store).Session("p", "c")
		took(t, a, "files", flow.Private)
		wrote(t, unasked, "files too")
		if marks := fromServer(t, store, "files too"); len(marks) != 2 {
			t.Errorf("%s: what a session wrote that nobody asked carries %+v", name, marks)
		}
		reader := newBook(t, store).Session("q", "d")
		took(t, reader, "notes", flow.Untrusted)
		if reader.Check(send, flow.ClosedSink) == nil {
			t.Errorf("%s: what the other session wrote is clean", name)
		}
	}
}

// With nothing to inherit, each session is alone; what a server carries isn't the client's.
func TestInheritNothing(t *testing.T) {
	book := flow.New(t.Context(), flow.Options{Inherit: func() time.Duration { return 0 }})
	a, b := book.Session("p", "c"), book.Session("p", "c")
	took(t, a, "mail", both)
	if got := b.Labels() | book.Session("p", "c").Labels(); got != 0 {
		t.Errorf("others hold %v", got)
	}
	wrote(t, a, "notes")
	took(t, b, "notes", 0)
	if b.Labels() != both {
		t.Error("the server forgot")
	}
}

// A busy session writes to the Store when there is news, and now and then.
func TestStoreIsntWrittenForEachCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &failing{Memory: flow.NewMemory()}
		s := newBook(t, store).Session("p", "c")
		for range 1000 {
			took(t, s, "mail", both)
			wrote(t, s, "notes")
		}
		if n := store.adds.Load(); n != 2 {
			t.Errorf("written %d times", n)
		}
		for range 60 {
			time.Sleep(10 * time.Second)
			took(t, s, "mail", both)
		}
		if n := store.adds.Load(); n > 2+10 {
			t.Errorf("in ten minutes written %d times", n)
		}
	})
}

// fromServer is what a new session takes in there.
func fromServer(t *testing.T, store flow.Store, server string) []flow.Mark {
	t.Helper()
	s := newBook(t, store).Session("nobody", server)
	took(t, s, server, 0)
	return s.Marks()
}

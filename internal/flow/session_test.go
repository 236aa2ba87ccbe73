package flow_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/flow"
	"github.com/usher-mcp/usher/permission"
)

// Only both labels together, and only a sink.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name string
		took map[string]flow.Labels
		tool permission.Target
		sink flow.Sink
		want []string
	}{
		{"clean", nil, send, flow.OpenSink, nil},
		{"private alone", map[string]flow.Labels{"mail": flow.Private}, send, flow.OpenSink, nil},
		{"untrusted alone", map[string]flow.Labels{"web": flow.Untrusted}, send, flow.OpenSink, nil},
		{"both", map[string]flow.Labels{"mail": flow.Private, "web": flow.Untrusted}, send, flow.ClosedSink, []string{"mail"}},
		{"both of one", map[string]flow.Labels{"mail": both}, send, flow.ClosedSink, []string{"mail"}},
		{"no sink", map[string]flow.Labels{"mail": both}, send, flow.NoSink, nil},
		{"its own, closed", map[string]flow.Labels{"net": both}, send, flow.ClosedSink, nil},
		{"its own, open", map[string]flow.Labels{"net": both}, send, flow.OpenSink, []string{"net"}},
		{"its own and another's", map[string]flow.Labels{"net": both, "mail": flow.Private}, send, flow.ClosedSink, []string{"mail"}},
		{"local files", map[string]flow.Labels{"": both}, send, flow.ClosedSink, []string{flow.Local}},
	} {
		s := newBook(t, nil).Session("p", "c")
		for server, labels := range c.took {
			took(t, s, server, labels)
		}
		f := s.Check(c.tool, c.sink)
		if (f != nil) != (c.want != nil) || f != nil && !slices.Equal(f.Private, c.want) {
			t.Errorf("%s: %+v, want %v", c.name, f, c.want)
		}
	}
}

// Once for each pair of source and sink in a session, and it says why.
func TestOncePerPair(t *testing.T) {
	s := newBook(t, nil).Session("p", "c")
	took(t, s, "mail", both)
	f := s.Check(send, flow.ClosedSink)
	if f == nil {
		t.Fatal("no flow")
	}
	for _, part := range []string{"mail", "mcp.net.send"} {
		if !strings.Contains(f.Why(), part) {
			t.Errorf("%q doesn't name %s", f.Why(), part)
		}
	}
	if s.Check(send, flow.ClosedSink) == nil {
		t.Error("a question that nobody answered counted")
	}
	s.Accepted(f)
	if f := s.Check(send, flow.ClosedSink); f != nil {
		t.Errorf("asks again: %+v", f)
	}
	if f := s.Check(post, flow.ClosedSink); f == nil {
		t.Error("another tool of that server was accepted, too")
	}
	took(t, s, "files", flow.Private)
	if f := s.Check(send, flow.ClosedSink); f == nil || !slices.Equal(f.Private, []string{"files"}) {
		t.Errorf("another source: %+v", f)
	}
	other := newBook(t, nil).Session("p", "c")
	took(t, other, "mail", both)
	if other.Check(send, flow.ClosedSink) == nil {
		t.Error("accepted for another session")
	}
}

// A server gives back what it was given, to whoever reads there, also after a restart.
func TestServerCarries(t *testing.T) {
	store := flow.NewMemory()
	book := newBook(t, store)
	s := book.Session("p", "one")
	wrote(t, s, "notes") // nothing yet
	clean := book.Session("p", "two")
	took(t, clean, "notes", flow.Untrusted)
	if got := clean.Labels(); got != flow.Untrusted {
		t.Fatalf("a clean session left %v", got)
	}
	took(t, s, "mail", both)
	wrote(t, s, "notes")
	took(t, clean, "notes", flow.Untrusted)
	if f := clean.Check(send, flow.ClosedSink); f == nil || !slices.Equal(f.Private, []string{"mail"}) {
		t.Errorf("another client: %+v", f)
	}
	later := newBook(t, store).Session("q", "three")
	took(t, later, "notes", flow.Untrusted)
	if f := later.Check(send, flow.ClosedSink); f == nil || !slices.Equal(f.Private, []string{"mail"}) {
		t.Errorf("after a restart: %+v", f)
	}
	if f := newBook(t, store).Session("q", "four").Check(send, flow.OpenSink); f != nil {
		t.Errorf("who read nothing: %+v", f)
	}
}

// The same holds for whatever else keeps things, however long its name is.
func TestOtherCarriers(t *testing.T) {
	store := &failing{Memory: flow.NewMemory()}
	book := newBook(t, store)
	s, reader := book.Session("p", "one"), book.Session("p", "two")
	took(t, s, "mail", both)
	artifact := flow.Carrier{Kind: "artifact", Name: strings.Repeat("a/", 400)}
	if err := s.Wrote(artifact); err != nil {
		t.Fatal(err)
	}
	if err := reader.Took(artifact, 0); err != nil {
		t.Fatal(err)
	}
	if f := reader.Check(send, flow.ClosedSink); f == nil || !slices.Equal(f.Private, []string{"mail"}) {
		t.Errorf("%+v", f)
	}
	if n := store.longest.Load(); n > flow.MaxKey {
		t.Errorf("a key of %d bytes", n)
	}
}

// What a Store can't say counts as everything, and what it can't keep is told; the session itself misses nothing.
func TestStoreFails(t *testing.T) {
	store := &failing{Memory: flow.NewMemory()}
	book := newBook(t, store)
	s := book.Session("p", "c")
	store.add.Store(true)
	if err := s.Took(flow.Server("mail"), both); err == nil {
		t.Error("what can't be kept isn't told")
	}
	if err := s.Took(flow.Server("mail"), both); err == nil {
		t.Error("the second time it isn't told")
	}
	if err := s.Wrote(flow.Server("notes")); err == nil {
		t.Error("a server would forget, and it isn't told")
	}
	if s.Check(send, flow.ClosedSink) == nil {
		t.Error("the session itself forgot")
	}
	if book.Session("p", "c").Check(send, flow.ClosedSink) == nil {
		t.Error("the client forgot while it lasts")
	}
	store.add.Store(false)
	took(t, s, "mail", both)
	if newBook(t, store).Session("p", "c").Check(send, flow.ClosedSink) == nil {
		t.Error("when it works again, it isn't kept")
	}
	sound := newBook(t, store).Session("p", "sound")
	if got := sound.Labels(); got != 0 {
		t.Fatalf("it holds %v", got)
	}
	took(t, s, "files", both) // so that there is something to read
	store.load.Store(true)
	if sound.Check(send, flow.ClosedSink) == nil {
		t.Error("the ledger can't be read any more, and the session is clean")
	}
	blind := newBook(t, store).Session("p", "d")
	f := blind.Check(send, flow.ClosedSink)
	if f == nil || !slices.Equal(f.Private, []string{flow.Unknown}) {
		t.Fatalf("a ledger that can't be read: %+v", f)
	}
	blind.Accepted(f)
	if blind.Check(send, flow.ClosedSink) == nil {
		t.Error("what nobody can name was accepted for good")
	}
	store.load.Store(false)
	if got := newBook(t, store).Session("p", "d").Labels(); got != 0 {
		t.Errorf("the trouble left %v", got)
	}
}

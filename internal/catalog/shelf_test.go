package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

// E6: a failed refresh, or a part of one, keeps the old list and says why. case-077: an error is no empty list.
func TestFailedList(t *testing.T) {
	_, s, _ := shelf(t, catalog.Options{}, catalog.Server{Name: "s", Key: "k"})
	steps := []struct {
		what     string
		brings   client.List[mcp.Tool]
		err      error
		changed  bool
		want     string
		complete bool
	}{
		{"nothing, and an error", tools(), errBroken, false, "", false},
		{"a part is better than nothing", tools("a"), errBroken, true, "a", false},
		{"a shorter part isn't", tools(), errBroken, false, "a", false},
		{"another part is", tools("b", "c"), errBroken, true, "bc", false},
		{"a whole list", tools("a"), nil, true, "a", true},
		{"the same", tools("a"), nil, false, "a", true},
		{"an error", tools(), errBroken, false, "a", true},
		{"a part is no better", tools("a", "b", "c"), errBroken, false, "a", true},
		{"an empty list that is one", tools(), nil, true, "", true},
		{"an error after it", tools("a"), errBroken, false, "", true},
	}
	for _, step := range steps {
		before := s.Entry()
		beforeNames := names(before.Tools)
		changed := s.SetTools(s.Begin(), step.brings, step.err)
		now := s.Entry().Tools
		if changed != step.changed || names(now) != step.want || now.Complete != step.complete || !errors.Is(now.Err, step.err) || (step.err == nil) != now.Failed.IsZero() {
			t.Errorf("%s: changed %v, %q, complete %v, %v at %v", step.what, changed, names(now), now.Complete, now.Err, now.Failed)
		}
		if s.Fresh(catalog.Tools) != (step.err == nil) {
			t.Errorf("%s: fresh %v", step.what, s.Fresh(catalog.Tools))
		}
		if names(before.Tools) != beforeNames {
			t.Errorf("%s: an entry that was handed out changed", step.what)
		}
	}
}

// A server that has a new order each time changes nothing; what is another by one byte is another.
func TestOrder(t *testing.T) {
	_, s, _ := shelf(t, catalog.Options{}, catalog.Server{Name: "s", Key: "k"})
	s.SetTools(s.Begin(), tools("a", "b", "c", "d"), nil)
	if s.SetTools(s.Begin(), tools("a", "d", "b", "c"), nil) || names(s.Entry().Tools) != "abcd" {
		t.Errorf("another order: %q", names(s.Entry().Tools))
	}
	if !s.SetTools(s.Begin(), tools("a", "d", "b", "b"), nil) {
		t.Error("c was taken away, and nobody saw it")
	}
	one, two := tools("a"), tools("a")
	two.Items[0].Raw = json.RawMessage(`{"name":"a", "inputSchema":{}}`)
	s.SetTools(s.Begin(), one, nil)
	if !s.SetTools(s.Begin(), two, nil) {
		t.Error("a space more is another definition")
	}
}

// E6: a list is good until the server's TTL ends, else until that of the settings, else until it changes.
func TestTTL(t *testing.T) {
	tests := []struct {
		servers, settings, want time.Duration // want 0: for ever
	}{
		{0, 0, 0},
		{5 * time.Minute, 0, 5 * time.Minute},
		{0, time.Hour, time.Hour},
		{5 * time.Minute, time.Hour, 5 * time.Minute},
		{time.Millisecond, 0, time.Second},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, s, _ := shelf(t, catalog.Options{}, catalog.Server{Name: "s", Key: "k", TTL: test.settings})
				if due, ok := s.Due(catalog.Tools); s.Fresh(catalog.Tools) || !ok || due.After(time.Now()) {
					t.Error("a list that was never there is good", due, ok)
				}
				l := tools("a")
				l.TTL = test.servers
				began := s.Begin()
				s.SetTools(began, l, nil)
				due, ok := s.Due(catalog.Tools)
				if ok != (test.want > 0) || ok && !due.Equal(time.Now().Add(test.want)) {
					t.Errorf("due %v %v", due, ok)
				}
				wait := test.want
				if wait == 0 {
					wait = 1000 * time.Hour
				}
				time.Sleep(wait - time.Nanosecond)
				if !s.Fresh(catalog.Tools) {
					t.Error("not good for long enough")
				}
				time.Sleep(time.Nanosecond)
				if s.Fresh(catalog.Tools) != (test.want == 0) {
					t.Error("good for too long")
				}
			})
		})
	}
}

// E6: a list is asked for anew after list_changed and after a new connection, also where that came while it was listed.
func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where no time passes between events
		_, s, _ := shelf(t, catalog.Options{}, catalog.Server{Name: "s", Key: "k"})
		list := func(meanwhile func()) {
			began := s.Begin()
			meanwhile()
			s.SetTools(began, tools("a"), nil)
			s.SetPrompts(began, client.List[mcp.Prompt]{}, nil)
		}
		check := func(what string, toolsFresh, promptsFresh bool) {
			t.Helper()
			if s.Fresh(catalog.Tools) != toolsFresh || s.Fresh(catalog.Prompts) != promptsFresh {
				t.Errorf("%s: tools %v, prompts %v", what, s.Fresh(catalog.Tools), s.Fresh(catalog.Prompts))
			}
			if due, ok := s.Due(catalog.Tools); ok == toolsFresh || due.After(time.Now()) {
				t.Errorf("%s: due %v %v", what, due, ok)
			}
		}
		nothing := func() {}
		list(nothing)
		check("listed", true, true)
		s.Changed(catalog.Tools)
		check("list_changed", false, true)
		list(nothing)
		check("listed again", true, true)
		list(func() { s.Changed(catalog.Tools) })
		check("list_changed meanwhile", false, true)
		list(nothing)
		s.Greet(client.Info{Era: mcp.Modern})
		check("a new connection", false, false)
		list(func() { s.Greet(client.Info{Era: mcp.Modern}) })
		check("a new connection meanwhile", false, false)
		list(nothing)
		check("listed at last", true, true)
	})
}

// Of two listings at the same time the one that began last counts, whichever ends last.
func TestLateListing(t *testing.T) {
	_, s, _ := shelf(t, catalog.Options{}, catalog.Server{Name: "s", Key: "k"})
	first, second := s.Begin(), s.Begin()
	s.SetTools(second, tools("new"), nil)
	if s.SetTools(first, tools("old"), nil) || names(s.Entry().Tools) != "new" {
		t.Errorf("%q", names(s.Entry().Tools))
	}
	first, second = s.Begin(), s.Begin()
	s.SetTools(second, tools("newer"), nil)
	s.SetTools(first, tools(), errBroken)
	if !s.Fresh(catalog.Tools) || s.Entry().Tools.Err != nil {
		t.Error("a late failure counts")
	}
}

// A server that can't be listed is asked less and less often; a word of its own is heard at once.
func TestFailureGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, _ := shelf(t, catalog.Options{}, catalog.Server{Name: "s", Key: "k"})
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
			s.SetTools(s.Begin(), tools(), errBroken)
			if due, ok := s.Due(catalog.Tools); !ok || !due.Equal(time.Now().Add(want*time.Minute)) {
				t.Errorf("after %d failures: in %v, %v", i+1, time.Until(due), ok)
			}
		}
		s.Changed(catalog.Tools)
		if due, ok := s.Due(catalog.Tools); !ok || due.After(time.Now()) {
			t.Error(due, ok)
		}
		s.SetTools(s.Begin(), tools("a"), nil)
		s.SetTools(s.Begin(), tools(), errBroken)
		if due, _ := s.Due(catalog.Tools); !due.Equal(time.Now().Add(time.Minute)) {
			t.Error("a success doesn't count")
		}
	})
}

// A Kind that there isn't does no harm.
func TestUnknownKind(t *testing.T) {
	_, s, _ := shelf(t, catalog.Options{}, catalog.Server{Name: "s", Key: "k"})
	s.Changed(99)
	if _, ok := s.Due(99); ok || s.Fresh(99) || s.Entry().Listing(99).Complete || catalog.Kind(99).String() != "?" {
		t.Error("it is good")
	}
	if catalog.Templates.String() != "resource templates" {
		t.Error(catalog.Templates)
	}
}

// Readers and writers of one shelf at once; each reader sees whole entries.
func TestConcurrent(t *testing.T) {
	c, s, r := shelf(t, catalog.Options{Store: new(catalog.Memory)}, catalog.Server{Name: "s", Key: "k"})
	var work sync.WaitGroup
	for i := range 4 {
		name := strings.Repeat("x", i+1)
		work.Go(func() {
			for range 200 {
				s.SetTools(s.Begin(), tools(name, name+"2"), nil)
				s.Greet(client.Info{Revision: name})
				s.Changed(catalog.Tools)
			}
		})
		work.Go(func() {
			for range 200 {
				if e := s.Entry(); len(e.Tools.Items) == 2 && e.Tools.Items[1].Name != e.Tools.Items[0].Name+"2" {
					t.Error("two lists in one")
				}
				s.Fresh(catalog.Tools)
				if c.Shelves(t.Context(), catalog.Server{Name: "s", Key: "k"})[0] != s {
					t.Error("another shelf")
				}
			}
		})
	}
	work.Wait()
	if said := r.said(); len(said) > 0 {
		t.Error(said)
	}
}

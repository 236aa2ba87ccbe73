package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
)

func TestReadFilters(t *testing.T) {
	dir := original(t)
	o := fixed(dir)
	o.NewID = func(prefix string) string { return prefix + "third" }
	closed(t, open(t, o)) // closes what the second process left open
	types := func(f journal.Filter) (out []string) {
		for _, e := range read(t, dir, f) {
			out = append(out, e.Session+" "+e.Type)
		}
		return out
	}
	for _, c := range []struct {
		filter journal.Filter
		want   []string
	}{
		{journal.Filter{Session: "a_3"}, []string{"a_3 session.started", "a_3 session.ended"}},
		{journal.Filter{Session: "host", Type: "session.started"}, []string{"s_2 session.started", "s_4 session.started", "s_third session.started"}},
		{journal.Filter{Session: "a_0", Type: "mcp.call.*"}, []string{"a_0 mcp.call.started", "a_0 mcp.call.completed", "a_0 mcp.call.started", "a_0 mcp.call.completed"}},
		{journal.Filter{Type: "mcp.call"}, nil},
		{journal.Filter{Session: "nobody"}, nil},
	} {
		got := types(c.filter)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.filter, diff)
		}
	}
	verified(t, dir)
}

// A bad line costs itself and no other; its error says where it is.
func TestReadGoesOn(t *testing.T) {
	d := copied(t, original(t))
	dir := filepath.Dir(d.names[0])
	all := len(read(t, dir, journal.Filter{}))
	long := append(bytes.Repeat([]byte("x"), event.MaxLine+2), '\n')
	d.edit(1, func(l [][]byte) [][]byte { return slices.Insert(l, 2, []byte("{}\n"), long) })
	var events int
	var errs []string
	for _, err := range journal.Read(dir, journal.Filter{}) {
		if err != nil {
			errs = append(errs, err.Error())
		} else {
			events++
		}
	}
	base := filepath.Base(d.names[1])
	if events != all || len(errs) != 2 || !strings.HasPrefix(errs[0], base+":3: ") || !strings.HasPrefix(errs[1], base+":4: a line longer") {
		t.Errorf("%d of %d events, errors %q", events, all, errs)
	}
	for range journal.Read(dir, journal.Filter{}) {
		break // the caller may stop
	}
	for _, err := range journal.Read(filepath.Join(dir, "none"), journal.Filter{}) {
		if err == nil {
			t.Error("read a folder that isn't there")
		}
	}
	if _, err := journal.Verify(filepath.Join(dir, "none")); err == nil {
		t.Error("verified a folder that isn't there")
	}
}

// What a line of foreign bytes can't do: crash a reader, or pass as an event that it isn't.
func FuzzFile(f *testing.F) {
	good, err := filepath.Glob("testdata/golden/*.jsonl")
	if err != nil || len(good) == 0 {
		f.Fatal("no golden files", err)
	}
	name := filepath.Base(good[0])
	for _, g := range good {
		b, err := os.ReadFile(g)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Add([]byte("\n\n{\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		good, bad := 0, 0
		for e, err := range journal.Read(dir, journal.Filter{}) {
			if err != nil {
				bad++
				continue
			}
			good++
			if _, err := event.Decode(e); err == nil && e.Seq < 1 {
				t.Errorf("an event without a number: %+v", e)
			}
		}
		r, err := journal.Verify(dir)
		if err != nil || r.Events != good || bad > len(r.Problems) {
			t.Errorf("Read found %d events and %d bad lines, Verify %+v, %v", good, bad, r, err)
		}
		j, err := journal.Open(t.Context(), journal.Options{Dir: dir}) // any rubbish can be taken over
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/internal/flow"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/permission"
)

// Arguments come back byte for byte, from nothing to the longest; the file is its owner's alone.
func TestLedgerKeepsBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "ledger.db")
	for i, args := range [][]byte{nil, {}, {0}, []byte(`{"a" : 1.0}`), bytes.Repeat([]byte{'x'}, 16<<20)} {
		l, _ := openLedger(t, path)
		want := asked()
		want.Session, want.Args = fmt.Sprint("s_", i), args
		id := openQuestion(t, queueOver(l), want)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l, _ = openLedger(t, path)
		r, err := queueOver(l).Show(t.Context(), id)
		if err != nil || !bytes.Equal(r.Args, args) || !r.Kept {
			t.Errorf("%d: %d bytes, %v", i, len(r.Args), err)
		}
	}
	for _, name := range []string{path, path + "-wal", path + ".lock"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// The ledger undoes what its user refuses, and gives the user's own error back.
func TestLedgerUndoes(t *testing.T) {
	l, _ := openLedger(t, filepath.Join(t.TempDir(), "ledger.db"))
	want := errors.New("no")
	err := l.Approvals().Write(t.Context(), func(tx approval.Tx) error {
		if err := tx.Put(approval.Row{ID: "q", Body: []byte("{}")}); err != nil {
			t.Error(err)
		}
		return want
	})
	if err != want {
		t.Error(err)
	}
	err = l.Approvals().Read(t.Context(), func(tx approval.Tx) error { _, err := tx.Get("q"); return err })
	if err != approval.ErrUnknown {
		t.Error(err)
	}
}

// asides are what was set aside beside a file.
func asides(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(path + ".damaged-*")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "-wal") || strings.HasSuffix(name, "-shm") })
}

// A damaged ledger is moved aside, never deleted, each under a name of its own; what it said counts no more.
func TestLedgerDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for i := range 3 {
		l, said := openLedger(t, path)
		if i > 0 {
			if len(said.all) != 1 {
				t.Fatalf("%q", said.all)
			}
			contains(t, said.all[0], path, "is damaged", "was renamed to ledger.db.damaged-", "you will be asked again")
		}
		if n := len(asides(t, path)); n != i {
			t.Errorf("%d files were set aside, want %d", n, i)
		}
		q := queueOver(l)
		if all, err := q.List(t.Context(), approval.Allowed); err != nil || len(all) != 0 {
			t.Errorf("%d, %v", len(all), err)
		}
		sayYes(t, q, openQuestion(t, q, asked()))
		if err := l.Trust(t.Context(), sqlite.Trust{Key: "k"}); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Repeat([]byte("garbage "), 1000*(i+1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, _ := openLedger(t, path)
	if trusted, err := l.Trusted(t.Context(), "k"); err != nil || trusted {
		t.Errorf("%v, %v", trusted, err)
	}
	if at, err := l.Lost(); err != nil || time.Since(at) > time.Minute {
		t.Errorf("%v, %v", at, err)
	}
	sizes := map[int64]bool{}
	for _, name := range asides(t, path) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		sizes[info.Size()] = true
	}
	if !sizes[8000] || !sizes[16000] || !sizes[24000] {
		t.Errorf("%v", sizes)
	}
}

// A ledger that is damaged while it is open: the call that finds it asks anew in a new file.
func TestLedgerDamagedWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, said := openLedger(t, path)
	if at, err := l.Lost(); err != nil || !at.IsZero() {
		t.Errorf("%v, %v", at, err)
	}
	q := queueOver(l)
	sayYes(t, q, openQuestion(t, q, asked()))
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec(`DROP TABLE argument; DROP TABLE approval`); err != nil {
		t.Fatal(err)
	}
	openQuestion(t, q, asked())
	if len(said.all) != 1 || len(asides(t, path)) != 1 {
		t.Errorf("%q, %q", said.all, asides(t, path))
	}
}

// A ledger of a newer Usher is left as it is, and nothing begins in its place.
func TestLedgerNewer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, _ := openLedger(t, path)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec(`PRAGMA user_version = 1000`); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.OpenLedger(t.Context(), path, sqlite.Options{Notice: func(text string) { t.Error(text) }})
	if err == nil {
		t.Fatal("it was opened")
	}
	contains(t, err.Error(), path, "newer version of Usher", "Use that version")
	if names, err := filepath.Glob(path + ".*"); err != nil || len(names) != 2 {
		t.Errorf("%q, %v", names, err)
	}
}

func TestTrust(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, _ := openLedger(t, path)
	at := time.Now().UTC().Truncate(time.Millisecond)
	a, b := sqlite.Trust{"k1", "/f", "x", "terminal", at}, sqlite.Trust{"k2", "/f", "y", "api", at.Add(time.Second)}
	for _, trust := range []sqlite.Trust{b, a, a} {
		if err := l.Trust(t.Context(), trust); err != nil {
			t.Fatal(err)
		}
	}
	other, _ := openLedger(t, path)
	all, err := other.Trusts(t.Context())
	if diff := cmp.Diff([]sqlite.Trust{a, b}, all); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, want := range []bool{true, false} {
		if was, err := other.Distrust(t.Context(), "k1"); err != nil || was != want {
			t.Errorf("%v, %v", was, err)
		}
	}
	for key, want := range map[string]bool{"k1": false, "k2": true, "k": false, "K2": false} {
		if got, err := l.Trusted(t.Context(), key); err != nil || got != want {
			t.Errorf("%s: %v, %v", key, got, err)
		}
	}
	if err := l.Trust(t.Context(), sqlite.Trust{Key: strings.Repeat("k", 20_000)}); err == nil {
		t.Error("no bound")
	}
}

// flow.Store: marks join, in whatever order they come, and another handle learns that something changed.
func TestMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, _ := openLedger(t, path)
	other, _ := openLedger(t, path)
	at := time.Now().UTC().Truncate(time.Millisecond)
	stamper, ok := other.Taints().(flow.Stamper)
	if !ok {
		t.Fatal("it can't tell that nothing changed")
	}
	before := stamper.Stamp()
	if again := stamper.Stamp(); again != before {
		t.Error("the stamp changes by itself")
	}
	for _, add := range [][]flow.Mark{
		{{Source: "web", Labels: flow.Untrusted, At: at}, {Source: "mail", Labels: flow.Private, At: at}},
		{{Source: "web", Labels: flow.Private, At: at.Add(-time.Hour)}},
	} {
		if err := l.Taints().Add(t.Context(), "client:a", add); err != nil {
			t.Fatal(err)
		}
	}
	if stamper.Stamp() == before {
		t.Error("the other handle doesn't learn that something changed")
	}
	got, err := other.Taints().Load(t.Context(), "client:a")
	slices.SortFunc(got, func(a, b flow.Mark) int { return strings.Compare(a.Source, b.Source) })
	want := []flow.Mark{{Source: "mail", Labels: flow.Private, At: at}, {Source: "web", Labels: flow.Private | flow.Untrusted, At: at}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if none, err := l.Taints().Load(t.Context(), "client:b"); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
	if err := l.Taints().Add(t.Context(), strings.Repeat("k", 301), nil); err == nil {
		t.Error("a key has no bound")
	}
}

// Another program that cuts the stamp's file off costs a look at the ledger for each call, not the process.
func TestStampCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, _ := openLedger(t, path)
	if err := os.Truncate(path+".stamp", 0); err != nil {
		t.Fatal(err)
	}
	stamper := l.Taints().(flow.Stamper)
	if one, two := stamper.Stamp(), stamper.Stamp(); one == two {
		t.Error("a stamp that can't be read says that nothing changed")
	}
	if err := l.Taints().Add(t.Context(), "k", []flow.Mark{{Source: "s", Labels: flow.Private, At: time.Now()}}); err != nil {
		t.Error(err)
	}
}

func TestClients(t *testing.T) {
	l, _ := openLedger(t, filepath.Join(t.TempDir(), "ledger.db"))
	a := sqlite.Client{PID: 10, Start: 1<<64 - 1, Host: 5, What: "agent"}
	again := a
	again.Start = 7
	for _, c := range []sqlite.Client{a, again, a} {
		if err := l.AddClient(t.Context(), c, nil); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := l.Clients(t.Context()); err != nil || len(all) != 2 || !slices.Contains(all, a) || !slices.Contains(all, again) {
		t.Errorf("%+v, %v", all, err)
	}
	if err := l.RemoveClient(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if all, err := l.Clients(t.Context()); err != nil || len(all) != 1 || all[0] != again {
		t.Errorf("%+v, %v", all, err)
	}
}

// A yes costs little: deciding by a person is slow enough.
func BenchmarkLedgerAsk(b *testing.B) {
	l, _ := openLedger(b, filepath.Join(b.TempDir(), "ledger.db"))
	q := queueOver(l)
	for i := 0; b.Loop(); i++ {
		question := asked()
		question.Args = fmt.Appendf(nil, `{"n":%d}`, i)
		id := openQuestion(b, q, question)
		if err := q.Answer(b.Context(), id, permission.Answer{Allow: true}); err != nil {
			b.Fatal(err)
		}
		if a, err := q.Ask(b.Context(), question, nil); err != nil || !a.Allow {
			b.Fatal(a, err)
		}
	}
}

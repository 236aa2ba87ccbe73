package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/mcp"
)

// E6: records come back as they were, whatever bytes they have, after the file was closed too.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c%41#d", "catalog.db")
	d, _ := open(t, path)
	every := make([]byte, 70_000)
	for i := range every {
		every[i] = byte(i)
	}
	want := catalog.Record{Key: "k'\x00ü", Server: "s", Data: every, Saved: time.Unix(time.Now().Unix(), 0)}
	save(t, d, want, record("other", 0))
	closed(t, d)
	d, said := open(t, path)
	got := load(t, d, want.Key, "other", "unknown")
	if len(got) != 2 || !bytes.Equal(got[want.Key].Data, every) || !got[want.Key].Saved.Equal(want.Saved) || len(said.all) > 0 {
		t.Errorf("%d records, %v", len(got), said.all)
	}
	want.Data = []byte("second")
	save(t, d, want)
	if got := load(t, d, want.Key); string(got[want.Key].Data) != "second" {
		t.Errorf("%q", got[want.Key].Data)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// The file is its owner's alone, and so is what SQLite puts beside it.
func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "folder", "catalog.db")
	d, _ := open(t, path)
	holds(t, d, "k")
	check := func() {
		t.Helper()
		files, err := filepath.Glob(path + "*")
		if err != nil || len(files) < 3 {
			t.Fatal(files, err)
		}
		for _, name := range files {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v %v", name, info.Mode(), err)
			}
		}
	}
	check()
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
	closed(t, d)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	d, _ = open(t, path)
	holds(t, d, "k")
	check()
}

// One changed byte of a record loses that record only.
func TestChangedByte(t *testing.T) {
	path := filled(t, 3)
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec(`UPDATE catalog SET data = CAST('y' || substr(data, 2) AS BLOB) WHERE key = 'k1'`); err != nil {
		t.Fatal(err)
	}
	d, said := open(t, path)
	if got := load(t, d, "k0", "k1", "k2"); len(got) != 2 || got["k1"].Data != nil || len(said.all) > 0 {
		t.Errorf("%d records, %v", len(got), said.all)
	}
}

// What is larger than a record may be isn't read into memory.
func TestLargeRecord(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	d, _ := open(t, path)
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for key, size := range map[string]int{"large": catalog.MaxRecord + 1, "most": catalog.MaxRecord} { // which SQLite makes by itself, and so quickly
		sum := crc32.Checksum(make([]byte, size), crc32.MakeTable(crc32.Castagnoli))
		if _, err := raw.Exec(`INSERT INTO catalog VALUES (?, 's', ?, ?, zeroblob(?))`, key, time.Now().Unix(), sum, size); err != nil {
			t.Fatal(err)
		}
	}
	if got := load(t, d, "large", "most"); len(got) != 1 || len(got["most"].Data) != catalog.MaxRecord {
		t.Errorf("%d records", len(got))
	}
}

// The file doesn't grow with every change of the configuration.
func TestPrune(t *testing.T) {
	t.Parallel()
	d, _ := open(t, filepath.Join(t.TempDir(), "catalog.db"))
	old, nearly := record("old", 10), record("nearly", 10)
	old.Saved = time.Now().Add(-91 * 24 * time.Hour)
	nearly.Saved = time.Now().Add(-89 * 24 * time.Hour)
	save(t, d, old, nearly)
	if got := load(t, d, "old", "nearly"); len(got) != 1 || got["nearly"].Key == "" {
		t.Errorf("%d records", len(got))
	}
	var many []catalog.Record
	var keys []string
	for i := range 520 {
		many = append(many, record(fmt.Sprint(i), 10))
		keys = append(keys, fmt.Sprint(i))
	}
	save(t, d, many...)
	if got := load(t, d, append(keys, "nearly")...); len(got) != 500 || got["nearly"].Key != "" {
		t.Errorf("%d records", len(got))
	}
}

// E6: nor with the size of what servers send: of those that were saved last, as much stays as there is room for.
func TestPruneBySize(t *testing.T) {
	t.Parallel()
	d, _ := open(t, filepath.Join(t.TempDir(), "catalog.db"))
	keys := []string{"new", "small"}
	for i := range 9 {
		r := record(fmt.Sprint("big", i), 8<<10)
		r.Saved = time.Now().Add(time.Duration(i-100) * time.Second)
		save(t, d, r)
		keys = append(keys, r.Key)
	}
	old := record("small", 1)
	old.Saved = time.Now().Add(-time.Hour)
	save(t, d, old)
	if got := load(t, d, keys...); len(got) != 10 {
		t.Errorf("%d records where there is room", len(got))
	}
	d.KeepBytes(64 << 10)
	save(t, d, record("new", 10))
	got := load(t, d, keys...)
	if len(got) != 8 || got["new"].Key == "" || got["big2"].Key == "" || got["big1"].Key != "" {
		t.Errorf("%d records", len(got))
	}
}

// A clock that was ahead once, and set back, keeps nothing for ever, and what is saved afterwards isn't pruned in its place.
func TestPruneFromTheFuture(t *testing.T) {
	t.Parallel()
	d, _ := open(t, filepath.Join(t.TempDir(), "catalog.db"))
	var many []catalog.Record
	for i := range 500 {
		r := record(fmt.Sprint("future", i), 1)
		r.Saved = time.Now().Add(4 * 365 * 24 * time.Hour)
		many = append(many, r)
	}
	save(t, d, many...)
	save(t, d, record("now", 10))
	got := load(t, d, "now", "future0", "future499")
	if len(got) < 2 || got["now"].Key == "" {
		t.Errorf("%d records", len(got))
	}
	for key, r := range got {
		if time.Until(r.Saved) > 0 {
			t.Errorf("%s was saved in %v", key, time.Until(r.Saved))
		}
	}
}

// All or none: a write that is given up leaves nothing.
func TestCancelled(t *testing.T) {
	d, _ := open(t, filepath.Join(t.TempDir(), "catalog.db"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Catalog().Save(ctx, record("a", 10), record("b", 10)); err == nil {
		t.Error("a write after its context's end succeeded")
	}
	if got := load(t, d, "a", "b"); len(got) != 0 {
		t.Errorf("%d records", len(got))
	}
	closed(t, d)
	closed(t, d)
	if err := d.Catalog().Save(t.Context(), record("a", 10)); err == nil {
		t.Error("a write after Close succeeded")
	}
}

// E6: what a server sent comes back through the file byte for byte, unknown fields and odd spelling too.
func TestFaithful(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	r := rand.New(rand.NewPCG(1, 2))
	var want client.List[mcp.Tool]
	for i := range 100 {
		tool, err := mcp.ParseTool(oddTool(r, i))
		if err != nil {
			t.Fatal(err)
		}
		want.Items = append(want.Items, tool)
	}
	server := catalog.Server{Name: "s", Key: "k"}
	d, _ := open(t, path)
	c := catalog.New(catalog.Options{Store: d.Catalog(), Report: func(err error) { t.Error(err) }})
	s := c.Shelves(t.Context(), server)[0]
	s.SetTools(s.Begin(), want, nil)
	c.Close()
	closed(t, d)

	d, _ = open(t, path)
	c = catalog.New(catalog.Options{Store: d.Catalog(), Report: func(err error) { t.Error(err) }})
	defer c.Close()
	got := c.Shelves(t.Context(), server)[0].Entry()
	if diff := cmp.Diff(want.Items, got.Tools.Items); diff != "" || !got.Tools.Cached || !got.Tools.Complete {
		t.Errorf("(-sent +read)\n%s", diff)
	}
}

// oddTool makes a definition that is right but that no encoder would write so.
func oddTool(r *rand.Rand, i int) json.RawMessage {
	spaces := func() string { return []string{"", " ", "\n\t", "\r\n"}[r.IntN(4)] }
	values := []string{`1.0`, `-0`, `1e400`, `12345678901234567890123`, `"\u00e9\/\ud83d\ude00"`, `"ü<>&  "`, `[ ]`, `{ "b":1 , "a":null}`, `true`}
	out := fmt.Sprintf(`{"n\u0061me"%s:%s"tool-%d"`, spaces(), spaces(), i)
	for n := range r.IntN(8) {
		out += fmt.Sprintf(`,%s"x-%d":%s%s%s`, spaces(), n, spaces(), values[r.IntN(len(values))], spaces())
	}
	return json.RawMessage(out + `,"inputSchema":{"type":"object",` + spaces() + `"x":` + values[r.IntN(len(values))] + `}}`)
}

// "20 cached servers listed < 50 ms after a restart": opening the file, reading it and reading all tools.
func BenchmarkLoad20(b *testing.B) {
	path := filepath.Join(b.TempDir(), "catalog.db")
	ids, tools := servers()
	d, _ := open(b, path)
	c := catalog.New(catalog.Options{Store: d.Catalog(), Report: func(err error) { b.Error(err) }})
	for _, s := range c.Shelves(b.Context(), ids...) {
		s.SetTools(s.Begin(), tools, nil)
	}
	c.Close()
	closed(b, d)
	for b.Loop() {
		d, err := sqlite.Open(b.Context(), path, sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		c := catalog.New(catalog.Options{Store: d.Catalog(), Report: func(err error) { b.Error(err) }})
		for _, s := range c.Shelves(b.Context(), ids...) {
			if e := s.Entry(); len(e.Tools.Items) != 30 || !e.Cached() {
				b.Fatal("not all there")
			}
		}
		b.StopTimer()
		c.Close()
		closed(b, d)
		b.StartTimer()
	}
}

package sqlite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/mcp"
)

const childFile = "USHER_TEST_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		if err := child(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(ledgerFile); path != "" {
		if err := ledgerChild(path, os.Getenv(ledgerDoes)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// notices collects what a DB says.
type notices struct{ all []string }

func (n *notices) take(text string) { n.all = append(n.all, text) }

func open(t testing.TB, path string) (*sqlite.DB, *notices) {
	t.Helper()
	n := new(notices)
	d, err := sqlite.Open(context.Background(), path, sqlite.Options{Notice: n.take})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, d) })
	return d, n
}

func closed(t testing.TB, d *sqlite.DB) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func save(t testing.TB, d *sqlite.DB, records ...catalog.Record) {
	t.Helper()
	if err := d.Catalog().Save(t.Context(), records...); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, d *sqlite.DB, keys ...string) map[string]catalog.Record {
	t.Helper()
	records, err := d.Catalog().Load(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]catalog.Record)
	for _, r := range records {
		out[r.Key] = r
	}
	return out
}

func record(key string, size int) catalog.Record {
	return catalog.Record{Key: key, Server: "s-" + key, Data: bytes.Repeat([]byte{'x'}, size), Saved: time.Now().Truncate(time.Second)}
}

// holds reports whether the file at path takes a record and gives it back.
func holds(t testing.TB, d *sqlite.DB, key string) {
	t.Helper()
	want := record(key, 5000)
	save(t, d, want)
	if got := load(t, d, key)[key]; !bytes.Equal(got.Data, want.Data) || got.Server != want.Server || !got.Saved.Equal(want.Saved) {
		t.Errorf("%q came back as %d bytes of %q, saved %v", key, len(got.Data), got.Server, got.Saved)
	}
}

// filled makes a file with records k0, k1, …, and closes it.
func filled(t testing.TB, records int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "cache", "catalog.db")
	d, _ := open(t, path)
	for i := range records {
		save(t, d, record(fmt.Sprintf("k%d", i), 20_000))
	}
	closed(t, d)
	return path
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in: %s", part, text)
		}
	}
}

// servers are 20 of them, each with 30 tools as servers in use have them.
func servers() (ids []catalog.Server, tools client.List[mcp.Tool]) {
	for i := range 20 {
		name := fmt.Sprintf("server-%d", i)
		ids = append(ids, catalog.Server{Name: name, Key: name + "#0123456789abcdef"})
	}
	for i := range 30 {
		raw := fmt.Sprintf(`{"name":"tool_%d","title":"Tool %d","description":%s,"inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"where it is"},`+
			`"depth":{"type":"integer","minimum":0},"mode":{"enum":["a","b","c"]}},"required":["path"],"additionalProperties":false},"annotations":{"readOnlyHint":true},"x-own":[1.0,1e3]}`,
			i, i, mcp.Quote(strings.Repeat("It does what it does. ", 20)))
		tool, err := mcp.ParseTool(json.RawMessage(raw))
		if err != nil {
			panic(err)
		}
		tools.Items = append(tools.Items, tool)
	}
	return ids, tools
}

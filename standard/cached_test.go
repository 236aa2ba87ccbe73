package standard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/standard"
)

const (
	cachedServers = 20
	cachedTools   = 30
)

// remembered is a data folder that knows what 20 servers offer, and a configuration in which they never answer.
func remembered(tb testing.TB) standard.Options {
	dir := tb.TempDir()
	var entries []string
	for i := range cachedServers {
		entries = append(entries, fmt.Sprintf(`"s%02d": {"command": "sleep", "args": ["600"]}`, i))
	}
	o := standard.Options{ConfigPath: filepath.Join(dir, "c.json"), DataDir: filepath.Join(dir, "data"), Dir: dir}
	if err := os.WriteFile(o.ConfigPath, []byte(`{"mcpServers": {`+strings.Join(entries, ",")+`}}`), 0o600); err != nil {
		tb.Fatal(err)
	}
	c, err := config.Load(o.ConfigPath, os.LookupEnv)
	if err != nil {
		tb.Fatal(err)
	}
	db, err := sqlite.Open(tb.Context(), filepath.Join(o.DataDir, "state.db"), sqlite.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	all := catalog.New(catalog.Options{Store: db.Catalog()})
	for _, s := range c.Servers {
		var list client.List[mcp.Tool]
		for n := range cachedTools {
			tool, err := mcp.ParseTool(fmt.Appendf(nil, `{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"key":{"type":"string"},"n":{"type":"integer"}},"required":["key"]}}`,
				n, strings.Repeat("what it does. ", 20)))
			if err != nil {
				tb.Fatal(err)
			}
			list.Items = append(list.Items, tool)
		}
		shelf := all.Shelves(tb.Context(), catalog.Server{Name: s.Name, Key: s.Key})[0]
		shelf.SetTools(shelf.Begin(), list, nil)
	}
	all.Close()
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	return o
}

// listAfterStart opens a host and asks for the tools, as an agent does that starts with usher.
func listAfterStart(tb testing.TB, o standard.Options) (took time.Duration, tools int) {
	begun := time.Now()
	h, err := standard.Open(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := h.Session(usher.SessionOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	m, err := s.Handle(tb.Context(), mcp.Request("1", mcp.MethodListTools, nil), mcp.Nobody)
	took = time.Since(begun)
	if err != nil {
		tb.Fatal(err)
	}
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(m.Result, &list); err != nil {
		tb.Fatal(err)
	}
	if err := h.Close(); err != nil {
		tb.Error(err)
	}
	return took, len(list.Tools)
}

// E6, C8, case-050, case-086: after a restart all tools are listed from the cache, though no server has answered yet.
func TestListedFromTheCache(t *testing.T) {
	if _, tools := listAfterStart(t, remembered(t)); tools != cachedServers*cachedTools+3 {
		t.Errorf("%d tools", tools)
	}
}

// A profile that keeps nothing waits for the servers, and lists what there is.
func TestNothingCachedInMemory(t *testing.T) {
	o := remembered(t)
	raw, err := os.ReadFile(o.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.ConfigPath, append([]byte(`{"profile": "professional", `), raw[1:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if took, tools := listAfterStart(t, o); tools != 3 || took < 4*time.Second {
		t.Errorf("%d tools after %v", tools, took)
	}
}

// BenchmarkCachedStart is from nothing to the list of 20 servers with 30 tools each; the budget is 50 ms.
func BenchmarkCachedStart(b *testing.B) {
	o := remembered(b)
	var sum time.Duration
	n := 0
	for b.Loop() {
		took, _ := listAfterStart(b, o)
		sum += took
		n++
	}
	b.ReportMetric(float64(sum.Milliseconds())/float64(n), "ms/list")
}

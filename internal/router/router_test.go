package router

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/usher-mcp/usher/mcp"
)

func defs(names ...string) []mcp.Tool {
	var all []mcp.Tool
	for _, n := range names {
		t, err := mcp.ParseTool([]byte(`{"name":` + string(mcp.Quote(n)) + `,"inputSchema":{"type":"object"}}`))
		if err != nil {
			panic(err)
		}
		all = append(all, t)
	}
	return all
}

// table makes a table of local tools (server "") and of others.
func table(servers map[string][]string) *Table {
	r := New()
	for server, names := range servers {
		r.Set(Origin{Server: server}, defs(names...))
	}
	return r.Table()
}

// E2, "namespace collision" and "ambiguous tool call": names that look alike reach what they say, or nothing.
func TestResolve(t *testing.T) {
	tb := table(map[string][]string{
		"":      {"read_file", "list_files"},
		"fs":    {"read_text", "read_file", "search"},
		"fs-v2": {"read_text"},
		"a":     {"b.c"},
		"a.b":   {"c"},
	})
	for name, want := range map[string]string{
		"mcp.fs.read_text":       "fs/read_text",
		"mcp.fs-v2.read_text":    "fs-v2/read_text",
		"mcp__fs__read_text":     "fs/read_text",
		"mcp__fs-v2__read_text":  "fs-v2/read_text",
		"mcp.fs.read_file":       "fs/read_file",
		"local.read_file":        "/read_file",
		"local__read_file":       "/read_file",
		"list_files":             "/list_files",
		"read_file":              "ambiguous local.read_file mcp.fs.read_file",
		"search":                 "unknown mcp.fs.search",
		"mcp.fs.serch":           "unknown mcp.fs.search",
		"MCP.fs.read_text":       "unknown",
		"mcp.fs.Read_text":       "unknown",
		"fs.read_text":           "unknown",
		"mcp.a.b.c":              "ambiguous",
		"zzzzzzzzzzzzzzzzzzzzzz": "unknown",
	} {
		got := ""
		tool, err := tb.Resolve(name, nil)
		if ambiguous, ok := errors.AsType[*Ambiguous](err); ok {
			got = "ambiguous " + strings.Join(ambiguous.Candidates, " ")
		} else if unknown, ok := errors.AsType[*Unknown](err); ok {
			got = "unknown " + strings.Join(unknown.Nearest, " ")
		} else {
			got = tool.Server + "/" + tool.Tool
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// E2: a tool that a deny rule hides makes no name ambiguous.
func TestHiddenToolIsNoCandidate(t *testing.T) {
	tb := table(map[string][]string{"": {"read_file"}, "fs": {"read_file"}})
	tool, err := tb.Resolve("read_file", func(t *Tool) bool { return t.Server == "fs" })
	if err != nil || tool.Server != "" {
		t.Errorf("got %+v, %v", tool, err)
	}
}

// E1: names toward models fit, are unique, and each leads back to its own pair.
func TestModelNames(t *testing.T) {
	long := strings.Repeat("x", 80)
	tb := table(map[string][]string{
		"":         {"read_file"},
		"search-a": {"q", "search_a", "search-a", "search a", "search.a", "查询", "__proto__", long, long + "y"},
		"a__b":     {"c"},
		"a":        {"b__c"},
		"my server": {
			"constructor",
		},
	})
	pattern := regexp.MustCompile(`^[A-Za-z0-9_-]{1,48}$`)
	seen := map[string]bool{}
	for _, tool := range tb.Tools() {
		if !pattern.MatchString(tool.Model) || seen[tool.Model] {
			t.Errorf("%q of %q: not allowed, or twice", tool.Model, tool.Name)
		}
		seen[tool.Model] = true
		if got, err := tb.Resolve(tool.Model, nil); err != nil || got != tool {
			t.Errorf("%s leads to %+v, %v", tool.Model, got, err)
		}
	}
	if got := tb.models["mcp__search-a__q"]; got == nil || got.Tool != "q" {
		t.Error("a name that fits and clashes with nothing got a suffix")
	}
}

// E7: the same tools give the same list, whoever came first.
func TestOrderIsStable(t *testing.T) {
	names := func(order []string) (names []string) {
		r := New()
		for _, s := range order {
			r.Set(Origin{Server: s}, defs("b", "a"))
		}
		for _, tool := range r.Table().Tools() {
			names = append(names, tool.Model)
		}
		return names
	}
	first, second := names([]string{"x", "", "y"}), names([]string{"y", "x", ""})
	if !slices.Equal(first, second) {
		t.Errorf("%v, then %v", first, second)
	}
	if first[0] != "local__a" {
		t.Errorf("local tools come first, got %v", first)
	}
}

// E4: descriptions are cut at 2048 characters, marked; the rest of the definition keeps its bytes.
func TestListing(t *testing.T) {
	raw := `{ "x":1.0, "name":"t", "description":"` + strings.Repeat("é", 3000) + `", "inputSchema":{"type":"object"} }`
	def, err := mcp.ParseTool([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	r := New()
	r.Set(Origin{Server: "s"}, []mcp.Tool{def})
	got := r.Table().Tools()[0].Listing()
	if err := mcp.Validate(got); err != nil {
		t.Fatal(err)
	}
	description := mcp.Text(mcp.Member(got, "description"))
	if utf8.RuneCountInString(description) > MaxDescription || !strings.HasSuffix(description, "é… [cut by usher]") {
		t.Errorf("%d bytes, ending %q", len(description), description[len(description)-30:])
	}
	if !strings.HasPrefix(string(got), `{ "x":1.0, "name":"mcp__s__t",`) {
		t.Errorf("got %s", got[:60])
	}
}

// Set says what changed against the list before.
func TestChange(t *testing.T) {
	r := New()
	r.Set(Origin{Server: "s"}, defs("a", "b"))
	changed := defs("b", "c", "c")
	changed[0].Raw = []byte(`{"name":"b","description":"new"}`)
	if got, want := fmt.Sprint(r.Set(Origin{Server: "s"}, changed)), "{[c] [a] [b]}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r.Set(Origin{Server: "s"}, nil)
	if n := len(r.Table().Tools()); n != 0 {
		t.Errorf("%d tools are left", n)
	}
}

func BenchmarkResolve50k(b *testing.B) {
	r := New()
	for s := range 10 {
		var names []string
		for i := range 5000 {
			names = append(names, fmt.Sprintf("tool_%d", i))
		}
		r.Set(Origin{Server: fmt.Sprintf("server%d", s)}, defs(names...))
	}
	t := r.Table()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.Resolve("mcp__server7__tool_1234", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// The names that may have been meant are spelled as the caller spells names.
func TestUnknownIsSpelledAsTheCallerDoes(t *testing.T) {
	tb := table(map[string][]string{"jira": {"echo"}})
	for name, want := range map[string]string{"mcp.jira.ecko": "did you mean mcp.jira.echo?", "mcp__jira__ecko": "did you mean mcp__jira__echo?"} {
		if _, err := tb.Resolve(name, nil); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

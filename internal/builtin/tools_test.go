package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/mcp"
)

func TestRead(t *testing.T) {
	s := serve(t, map[string]string{
		"lines": "one\ntwo\r\nthree", "empty": "", "binary": "PNG\x00\x01", "latin": "caf\xe9\n", "new\nline": "odd name\n",
	})
	for _, c := range []struct{ args, want string }{
		{`{"path":"lines"}`, "one\ntwo\r\nthree"},
		{`{"path":"lines","offset":2}`, "two\r\nthree"},
		{`{"path":"lines","offset":2,"limit":1}`, "two\r\n\n[Lines 2 to 2 of a file of 14 bytes. More follow: read on with offset 3.]"},
		{`{"path":"lines","limit":3}`, "one\ntwo\r\nthree"},
		{`{"path":"lines","offset":4}`, "[No line follows.]"},
		{`{"path":"empty"}`, "[The file is empty.]"},
		{`{"path":"latin"}`, "caf\uFFFD\n\n[Bytes that are not UTF-8 are shown as \uFFFD.]"},
		{`{"path":"new\nline"}`, "odd name\n"},
	} {
		if got := s.text("read_file", c.args); got != c.want {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
	}
	if got := s.refused("read_file", `{"path":"lines","offset":5}`); !strings.Contains(got, "has 3 lines") {
		t.Error(got)
	}
	if got := s.refused("read_file", `{"path":"binary"}`); !strings.Contains(got, "binary file of 5 bytes") {
		t.Error(got)
	}
}

// Reading on with nextOffset shows each line of a large file once, in bounded answers.
func TestReadOn(t *testing.T) {
	var text strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	s := serve(t, map[string]string{"large": text.String()})
	var got strings.Builder
	for offset, pages := "1", 0; offset != ""; pages++ {
		part := mcp.Member(s.call("read_file", `{"path":"large","offset":`+offset+`}`), "structuredContent")
		shown := mcp.Text(mcp.Member(part, "text"))
		if len(shown) == 0 || len(shown) > maxShown || pages > 10 {
			t.Fatalf("page %d has %d bytes", pages, len(shown))
		}
		got.WriteString(shown)
		offset = string(mcp.Member(part, "nextOffset"))
	}
	if got.String() != text.String() {
		t.Error("what was shown is not the file")
	}
}

func TestLongLine(t *testing.T) {
	s := serve(t, map[string]string{"long": "first\n" + strings.Repeat("é", 1<<20) + "\nlast\n"})
	if got := s.text("read_file", `{"path":"long"}`); !strings.HasPrefix(got, "first\n\n[Lines 1 to 1") {
		t.Error(clip(got, 200))
	}
	got := s.text("read_file", `{"path":"long","offset":2}`)
	if strings.ContainsRune(got[:maxShown], '\uFFFD') || !strings.Contains(got[maxShown-10:], "longer than 1 MiB") || !strings.Contains(got[maxShown-10:], "offset 3") {
		t.Error(clip(got[maxShown-10:], 300))
	}
	if got := s.text("read_file", `{"path":"long","offset":3}`); got != "last\n" {
		t.Error(clip(got, 200))
	}
}

// A file of 1 TiB costs no more than what is shown.
func TestHugeFile(t *testing.T) {
	s := serve(t, map[string]string{"huge": strings.Repeat("some text\n", 2000)})
	if err := os.Truncate(filepath.Join(s.dir, "huge"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if got := s.text("read_file", `{"path":"huge","limit":1}`); !strings.HasPrefix(got, "some text\n\n[Lines 1 to 1 of a file of 1099511627776 bytes") {
		t.Error(clip(got, 200))
	}
	if got := s.refused("search_text", `{"path":"huge","query":"text"}`); !strings.Contains(got, "above 10 MiB") {
		t.Error(got)
	}
	if got := s.text("search_text", `{"query":"text"}`); !strings.Contains(got, "not readable: 1.") {
		t.Error(got)
	}
}

func TestList(t *testing.T) {
	s := serve(t, map[string]string{
		"b.go": "", "a.ts": "", "sub/c.go": "", "sub/deep/d.tsx": "", ".git/config": "", "sub/.git/x": "", "odd\nname": "", ".hidden": "",
	})
	for _, c := range []struct{ args, want string }{
		{`{}`, ".git/|.hidden|a.ts|b.go|\"odd\\nname\"|sub/"},
		{`{"path":"sub"}`, "sub/.git/|sub/c.go|sub/deep/"},
		{`{"recursive":true}`, ".hidden|a.ts|b.go|\"odd\\nname\"|sub/|sub/c.go|sub/deep/|sub/deep/d.tsx"},
		{`{"pattern":"*.go"}`, "b.go"},
		{`{"pattern":"*.go","recursive":true}`, "b.go|sub/c.go"},
		{`{"pattern":"*.{ts,tsx}","recursive":true}`, "a.ts|sub/deep/d.tsx"},
		{`{"pattern":"**/*.go"}`, "b.go|sub/c.go"},
		{`{"pattern":"sub/**"}`, "sub/|sub/c.go|sub/deep/|sub/deep/d.tsx"},
		{`{"pattern":"deep/*","path":"sub"}`, "sub/deep/d.tsx"},
		{`{"pattern":"none"}`, "[Nothing found.]"},
		{`{"limit":2}`, ".git/|.hidden|[The first 2 are shown; there are more. Narrow path or pattern, or raise limit.]"},
		{`{"limit":6}`, ".git/|.hidden|a.ts|b.go|\"odd\\nname\"|sub/"},
	} {
		if got := strings.ReplaceAll(s.text("list_files", c.args), "\n", "|"); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.args, got, c.want)
		}
	}
	if r := s.call("list_files", `{"limit":2}`); string(mcp.Path(r, "structuredContent", "truncated")) != "true" {
		t.Errorf("%s", r)
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*.go", "a/b/c.go", true}, {"a/*.go", "a/b/c.go", false}, {"a/**/*.go", "a/c.go", true}, {"a/**/*.go", "a/b/d/c.go", true},
		{"**", "a/b", true}, {"**/b", "b", true}, {"**/b", "ab", false}, {"/a", "a", true}, {"./a/b", "a/b", true}, {"a?", "ab", true},
		{"[!a]b", "ab", true}, {"[^a]b", "ab", false}, {"{a,{b,c}}x", "cx", true}, {"{a", "{a", true}, {"A", "a", false},
		{strings.Repeat("**/", 100) + "x", strings.Repeat("a/", 1000) + "y", false},
	} {
		g, err := newGlob(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got := g.match(c.name); got != c.want {
			t.Errorf("%q %q: %v", c.pattern, c.name, got)
		}
	}
}

func TestSearch(t *testing.T) {
	s := serve(t, map[string]string{
		"a.txt": "Needle one\nneedle two\r\nnothing\nneedle needle\n", "sub/b.go": "x\n\tneedle()\n", "bin": "needle\x00", ".git/c": "needle\n",
		"latin": "n\xe9edle needle\n", "d.md": "a.b\na+b\n", "new\nline": "needle in an odd name\n",
		"long": strings.Repeat("é", 40_000) + " far needle " + strings.Repeat("x", 1000) + "\nnext\n",
	})
	for _, c := range []struct{ args, want string }{
		{`{"query":"needle","path":"a.txt"}`, "a.txt:2: needle two|a.txt:4: needle needle"},
		{`{"query":"needle","path":"a.txt","case_sensitive":false}`, "a.txt:1: Needle one|a.txt:2: needle two|a.txt:4: needle needle"},
		{`{"query":"^needle","path":"a.txt","regex":true}`, "a.txt:2: needle two|a.txt:4: needle needle"},
		{`{"query":"two$","regex":true}`, "a.txt:2: needle two|[Files skipped as binary, above 10 MiB or not readable: 1.]"},
		{`{"query":"NEEDLE\\(","regex":true,"case_sensitive":false,"path":"sub"}`, "sub/b.go:2: \tneedle()"},
		{`{"query":"a.b","path":"d.md"}`, "d.md:1: a.b"},
		{`{"query":"A+B","path":"d.md","case_sensitive":false}`, "d.md:2: a+b"},
		{`{"query":"needle","pattern":"*.go"}`, "sub/b.go:2: \tneedle()"},
		{`{"query":"needle","pattern":"sub/**"}`, "sub/b.go:2: \tneedle()"},
		{`{"query":"needle","path":"latin"}`, "latin:1: n\uFFFDedle needle"},
		{`{"query":"odd"}`, "\"new\\nline\":1: needle in an odd name|[Files skipped as binary, above 10 MiB or not readable: 1.]"},
		{`{"query":"needle","path":"a.txt","limit":1}`, "a.txt:2: needle two|[The first 1 are shown; there are more. Narrow path, pattern or query, or raise limit.]"},
		{`{"query":"next","path":"long"}`, "long:2: next"},
	} {
		if got := strings.ReplaceAll(s.text("search_text", c.args), "\n", "|"); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.args, got, c.want)
		}
	}
	got := s.text("search_text", `{"query":"far needle","path":"long"}`)
	if n := len([]rune(got)); !strings.HasPrefix(got, "long:1: …") || !strings.Contains(got, " far needle ") || n > maxLine+20 {
		t.Errorf("%d characters: %s", n, got)
	}
	s.refused("search_text", `{"query":"needle","path":"bin"}`)
}

// Whatever the limit, an answer stays near 1 MiB: it must fit into a message.
func TestAnswersAreBounded(t *testing.T) {
	files := map[string]string{"lines": strings.Repeat(strings.Repeat("é", 600)+"\n", 2500)}
	deep := strings.Repeat(strings.Repeat("d", 200)+"/", 12)
	for i := range 500 {
		files[fmt.Sprintf("%s%d", deep, i)] = ""
	}
	s := serve(t, files)
	for tool, args := range map[string]string{"search_text": `{"query":"é","limit":2000}`, "list_files": `{"pattern":"**/[0-9]*","limit":10000}`} {
		got := s.text(tool, args)
		if len(got) > maxShown+64<<10 || len(got) < maxShown/2 || !strings.Contains(got, "there are more") {
			t.Errorf("%s: %d bytes", tool, len(got))
		}
	}
}

// The two classic traps of backtracking take no time.
func TestNoCatastrophe(t *testing.T) {
	s := serve(t, map[string]string{"a": strings.Repeat("a", 1<<20) + "\n"})
	if got := s.text("search_text", `{"query":"(a+)+$|(a|aa)+b","regex":true,"limit":1}`); !strings.HasPrefix(got, "a:1: ") {
		t.Error(clip(got, 100))
	}
	if got := s.text("search_text", `{"query":"(a*)*b","regex":true}`); got != "[Nothing found.]" {
		t.Error(clip(got, 100))
	}
}

func TestConcurrentCalls(t *testing.T) {
	s := serve(t, map[string]string{"a/b.txt": "needle\n"})
	done := make(chan string)
	const n = 16
	for range n {
		go func() {
			done <- s.text("read_file", `{"path":"a/b.txt"}`) + s.text("list_files", `{"recursive":true}`) + s.text("search_text", `{"query":"needle"}`)
		}()
	}
	for range n {
		if got := <-done; got != "needle\na/\na/b.txta/b.txt:1: needle" {
			t.Error(got)
		}
	}
}

package client

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

func toolLine(names ...string) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":%q,"inputSchema":{"type":"object"}}`, n)
	}
	return b.String()
}

func page(tools, cursor string) string {
	if cursor != "" {
		cursor = `,"nextCursor":` + cursor
	}
	return discoverLine(`{"tools":[` + tools + `]` + cursor + `}`)
}

func many(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = "t" + strconv.Itoa(i)
	}
	return toolLine(names...)
}

// C1: all pages, bounded; what came is kept.
func TestTools(t *testing.T) {
	for name, c := range map[string]struct {
		page   func(n int, cursor string) string // n counts from 1
		limits Limits
		want   string // names, or their number
		kind   fault.Kind
		words  string
		asked  int
	}{
		"one page": {page: func(int, string) string { return page(toolLine("a", "b"), "") }, want: "a b", asked: 1},
		"three pages": {page: func(n int, cursor string) string {
			if n > 1 && cursor != `"c\u002F`+strconv.Itoa(n-1)+`"` {
				return errorLine("-32602", "") // the cursor must come back byte for byte
			}
			return page(toolLine("t"+strconv.Itoa(n)), []string{`"c\u002F1"`, `"c\u002F2"`, `null`}[n-1])
		}, want: "t1 t2 t3", asked: 3},
		"empty cursor":    {page: func(int, string) string { return page(toolLine("a"), `""`) }, want: "a", asked: 1},
		"repeated cursor": {page: func(n int, _ string) string { return page(toolLine("t"+strconv.Itoa(n)), `"c"`) }, want: "t1 t2", kind: fault.Protocol, words: "same cursor twice; 2 tools", asked: 2},
		"wrong cursor":    {page: func(int, string) string { return page(toolLine("a"), `7`) }, want: "a", kind: fault.Protocol, words: "no string", asked: 1},
		"endless pages": {page: func(n int, _ string) string {
			return page(toolLine("t"+strconv.Itoa(n)), strconv.Quote(strconv.Itoa(n)))
		}, want: "100", kind: fault.TooLarge, words: "100 pages", asked: 100},
		"second page fails": {page: func(n int, _ string) string {
			if n == 2 {
				return errorLine("-32603", "")
			}
			return page(toolLine("a"), `"c"`)
		}, want: "a", kind: fault.ServerError, words: "code -32603", asked: 2},
		"second page dies": {page: func(n int, _ string) string {
			if n == 2 {
				return "die"
			}
			return page(toolLine("a"), `"c"`)
		}, want: "a", kind: fault.Restarted, asked: 2},
		"second page stays away": {page: func(n int, _ string) string {
			if n == 2 {
				return ""
			}
			return page(toolLine("a"), `"c"`)
		}, want: "a", kind: fault.Timeout, asked: 2},
		"100,000 tools": {page: func(int, string) string { return page(many(100_000), "") }, want: "10000", kind: fault.TooLarge, words: "10000 tools", asked: 1},
		"10,000 tools":  {page: func(int, string) string { return page(many(10_000), "") }, want: "10000", asked: 1},
		"many bytes": {page: func(n int, _ string) string {
			return page(toolLine("a"+strconv.Itoa(n)), strconv.Quote(strconv.Itoa(n)))
		}, limits: Limits{Bytes: 200}, want: "a1 a2", kind: fault.TooLarge, words: "200 bytes", asked: 3},
		"no array":       {page: func(int, string) string { return discoverLine(`{"tools":{}}`) }, kind: fault.Protocol, words: "no array", asked: 1},
		"empty":          {page: func(int, string) string { return page("", "") }, asked: 1},
		"bad definition": {page: func(int, string) string { return page(`7,{"name":1},{},`+toolLine("a", "b", "a"), "") }, want: "a b", asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				tr := newMemory(t, func(w *wire) {
					for m := w.next(); m != nil; m = w.next() {
						switch m.Method {
						case mcp.MethodDiscover:
							w.say(m, discovered)
						case mcp.MethodListTools:
							asked++
							line := c.page(asked, string(mcp.Member(m.Params, "cursor")))
							if line == "die" {
								return
							}
							if line != "" {
								w.say(m, line)
							}
						}
					}
				})
				s := connect(t, tr, Options{Limits: c.limits})
				tools, err := s.Tools(t.Context())
				var names []string
				for _, tool := range tools {
					names = append(names, tool.Name)
				}
				if got := strings.Join(names, " "); got != c.want && strconv.Itoa(len(names)) != c.want {
					t.Errorf("got %.200s (%d), want %s", got, len(names), c.want)
				}
				if c.kind == "" && err != nil {
					t.Error(err)
				} else if c.kind != "" {
					wantKind(t, err, c.kind, c.words)
				}
				_ = s.Close()
				tr.running.Wait()
				if asked != c.asked {
					t.Errorf("asked %d times, want %d", asked, c.asked)
				}
				if name == "bad definition" && len(s.Dropped()) != 4 {
					t.Errorf("dropped %+v", s.Dropped())
				}
			})
		})
	}
}

// C1: what the server did not declare is not called.
func TestToolsNotDeclared(t *testing.T) {
	undeclared := strings.Replace(initialized, `{"tools":{}}`, `{"prompts":{}}`, 1)
	s := connect(t, newMemory(t, server(map[string]string{mcp.MethodDiscover: unknownMethod, mcp.MethodInitialize: undeclared},
		func(_ *wire, m *mcp.Message) { t.Errorf("the server was asked %s", m.Method) })), Options{})
	if tools, err := s.Tools(t.Context()); tools != nil || err != nil {
		t.Errorf("got %v, %v", tools, err)
	}
}

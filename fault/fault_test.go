package fault_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/usher-mcp/usher/fault"
)

// kinds reads the constants of type Kind from the source, so that a new one can't be forgotten here.
func kinds(t *testing.T) (all []fault.Kind) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == "Kind" {
			s, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fault.Kind(s))
		}
		return true
	})
	if len(all) < 15 {
		t.Fatalf("only %d kinds found: %v", len(all), all)
	}
	return all
}

var (
	families = []string{"NetworkError", "AuthError", "ToolError", "ResourceError"}
	exits    = []int{
		fault.ExitTool, fault.ExitUsage, fault.ExitConfig, fault.ExitDenied, fault.ExitUnavailable, fault.ExitTimeout, fault.ExitLog,
		fault.ExitInternal,
	}
	standardCodes = []int{-32700, -32600, -32601, -32602, -32603}
)

// D6: each kind has its own words in both languages, and its codes.
func TestTableIsComplete(t *testing.T) {
	texts := map[string]fault.Kind{}
	for _, k := range kinds(t) {
		t.Run(string(k), func(t *testing.T) {
			e := &fault.Error{Kind: k, Tool: "mcp.fs.read", Server: "fs", Detail: "DETAIL", Hint: "Do that"}
			en, zh := e.Text(fault.English), e.Text(fault.Chinese)
			for _, text := range []string{en, zh} {
				for _, part := range []string{"mcp.fs.read", "DETAIL", "Do that"} {
					if !strings.Contains(text, part) {
						t.Errorf("%q is not in: %s", part, text)
					}
				}
				if other, taken := texts[text]; taken && !generic(k, other) {
					t.Errorf("the same text as %s: %s", other, text)
				}
				texts[text] = k
			}
			if isHan := func(r rune) bool { return unicode.Is(unicode.Han, r) }; strings.ContainsFunc(en, isHan) || !strings.ContainsFunc(zh, isHan) {
				t.Errorf("languages: %s / %s", en, zh)
			}
			if !slices.Contains(families, k.Family()) {
				t.Errorf("family %q", k.Family())
			}
			if !slices.Contains(exits, k.Exit()) {
				t.Errorf("exit code %d", k.Exit())
			}
			if c := k.Code(); c >= -32768 && c <= -32000 && !slices.Contains(standardCodes, c) {
				t.Errorf("JSON-RPC code %d is reserved", c)
			}
			if s := k.Status(); s != 499 && (s < 400 || http.StatusText(s) == "") {
				t.Errorf("HTTP status %d", s)
			}
		})
	}
}

// generic kinds say only what the server, or a bug, said.
func generic(a, b fault.Kind) bool {
	both := []fault.Kind{fault.ServerError, fault.Internal}
	return slices.Contains(both, a) && slices.Contains(both, b) || a == b
}

// N3, D6: an exit code tells the kinds of trouble apart that a script treats differently.
func TestExitCodes(t *testing.T) {
	for k, want := range map[fault.Kind]int{
		fault.ServerError: 1, fault.NotFound: 2, fault.InvalidParams: 2, fault.PermissionDenied: 4, fault.ApprovalRequired: 4,
		fault.Unavailable: 5, fault.Restarted: 5, fault.Auth: 5, fault.Protocol: 5, fault.TooLarge: 5, fault.SessionExpired: 5,
		fault.ResourceNotFound: 2, fault.Stale: 5, fault.Unstable: 5, fault.BreakerOpen: 5,
		fault.Timeout: 6, fault.Cancelled: 6, fault.LogUnavailable: 7, fault.Internal: 70, fault.Kind("unheard of"): 70,
	} {
		if got := k.Exit(); got != want {
			t.Errorf("%s: exit code %d, want %d", k, got, want)
		}
	}
	for i, c := range exits {
		if slices.Contains(exits[:i], c) || c == 0 {
			t.Errorf("exit code %d is taken", c)
		}
	}
}

// What is for the operator doesn't reach the agent; the operator reads all.
func TestTextHasNoCause(t *testing.T) {
	cause := errors.New("CAUSE")
	for _, k := range kinds(t) {
		e := &fault.Error{Kind: k, Tool: "t", Server: "s", Detail: "d", Cause: cause}
		for _, l := range []fault.Language{fault.English, fault.Chinese, "fr"} {
			if text := e.Text(l); strings.Contains(text, "CAUSE") {
				t.Errorf("%s: %s", k, text)
			}
		}
		if !strings.HasSuffix(e.Error(), ": CAUSE") || !errors.Is(e, cause) {
			t.Errorf("%s: %v", k, e)
		}
	}
}

func TestText(t *testing.T) {
	tests := []struct {
		name     string
		e        fault.Error
		language fault.Language
		want     string
	}{
		{"all", fault.Error{Kind: fault.Unavailable, Tool: "mcp.fs.x", Server: "fs", Detail: "exit status 1", Hint: "Look"}, fault.English,
			"mcp.fs.x is not available now: server fs can't be reached: exit status 1. Look"},
		{"Chinese", fault.Error{Kind: fault.Timeout, Tool: "mcp.fs.x", Server: "fs"}, fault.Chinese, "工具 mcp.fs.x 当前不可用：Server fs 未响应"},
		{"another language", fault.Error{Kind: fault.InvalidParams, Tool: "t", Detail: "key: is missing"}, "fr", "t: wrong arguments: key: is missing"},
		{"nothing known", fault.Error{Kind: fault.Auth}, fault.English, "the server refuses our credentials and must be connected anew"},
		{"no tool", fault.Error{Kind: fault.Unavailable, Server: "fs", Detail: "connection refused"}, fault.English, "server fs can't be reached: connection refused"},
		{"no tool, Chinese", fault.Error{Kind: fault.Unavailable, Server: "fs", Detail: "x"}, fault.Chinese, "Server fs 无法连接：x"},
		{"neither", fault.Error{Kind: fault.Cancelled, Detail: "the caller gave it up"}, fault.English, "the call was cancelled: the caller gave it up"},
		{"no detail", fault.Error{Kind: fault.Internal, Tool: "t"}, fault.English, "t failed"},
		{"placeholders of others", fault.Error{Kind: fault.ServerError, Tool: "{server}", Server: "{detail}", Detail: "{tool}"}, fault.English, "{server} failed: {tool}"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.e.Text(test.language); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestOf(t *testing.T) {
	e := fault.New(fault.TooLarge, "%d bytes", 17)
	if e.Detail != "17 bytes" || e.Kind != fault.TooLarge {
		t.Errorf("%+v", e)
	}
	wrapped := fmt.Errorf("on the way: %w", e)
	if fault.Of(wrapped) != e || fault.KindOf(wrapped) != fault.TooLarge {
		t.Error("the error in the chain isn't found")
	}
	plain := errors.New("plain")
	if got := fault.Of(plain); got.Kind != fault.Internal || !errors.Is(got, plain) || fault.KindOf(plain) != fault.Internal {
		t.Errorf("%+v", got)
	}
	if strings.Contains(fault.Of(plain).Text(fault.English), "plain") {
		t.Error("an unknown error reaches the agent")
	}
}

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/schema"
	"github.com/usher-mcp/usher/mcp"
)

// served is a folder with files and its server.
type served struct {
	mcp.Handler
	t   *testing.T
	dir string
}

func serve(t *testing.T, files map[string]string) served {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, closer, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
	})
	return served{h, t, dir}
}

func (s served) ask(method, params string) *mcp.Message {
	s.t.Helper()
	m, err := s.Handle(s.t.Context(), mcp.Request("1", method, json.RawMessage(params)), mcp.Nobody)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := mcp.Parse(m.AppendTo(nil)); err != nil {
		s.t.Fatalf("%v in %s", err, m.AppendTo(nil))
	}
	return m
}

// call returns the result, whose structuredContent is checked against the tool's outputSchema.
func (s served) call(tool, args string) json.RawMessage {
	s.t.Helper()
	m := s.ask(mcp.MethodCallTool, `{"name":"`+tool+`","arguments":`+args+`}`)
	if m.Error != nil {
		s.t.Fatalf("%s", m.Error)
	}
	if mcp.IsError(m.Result) {
		return m.Result
	}
	c, err := schema.Compile(s.tool(tool).OutputSchema)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := c.Check(mcp.Member(m.Result, "structuredContent")); err != nil {
		s.t.Errorf("structuredContent: %v", err)
	}
	return m.Result
}

func (s served) tool(name string) mcp.Tool {
	s.t.Helper()
	for raw := range mcp.Elements(mcp.Member(s.ask(mcp.MethodListTools, `{}`).Result, "tools")) {
		t, err := mcp.ParseTool(raw)
		if err != nil {
			s.t.Fatal(err)
		}
		if t.Name == name {
			return t
		}
	}
	s.t.Fatalf("no tool %s", name)
	return mcp.Tool{}
}

// text is the text of a call that must not fail.
func (s served) text(tool, args string) string {
	s.t.Helper()
	r := s.call(tool, args)
	if mcp.IsError(r) {
		s.t.Errorf("%s %s: %s", tool, args, mcp.ResultText(r))
	}
	return mcp.ResultText(r)
}

// refused is the text of a call that must fail, and must not show where the folder is.
func (s served) refused(tool, args string) string {
	s.t.Helper()
	r := s.call(tool, args)
	if !mcp.IsError(r) {
		s.t.Errorf("%s %s was not refused: %s", tool, clip(args, 200), clip(string(r), 300))
	}
	return mcp.ResultText(r)
}

func quote(s string) string { return string(mcp.Quote(s)) }

const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`

func TestProtocol(t *testing.T) {
	s := serve(t, nil)
	d := s.ask(mcp.MethodDiscover, `{`+modern+`}`).Result
	for _, want := range []string{`"resultType":"complete"`, `"supportedVersions":["2026-07-28"]`, `"capabilities":{"tools":{}}`,
		`"ttlMs":3600000`, `"cacheScope":"public"`, `"io.modelcontextprotocol/serverInfo":{"name":"usher-files"`} {
		if !strings.Contains(string(d), want) {
			t.Errorf("discover lacks %s: %s", want, d)
		}
	}
	for asked, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-11-25": "2025-11-25", "1999-01-01": "2025-11-25"} {
		r := s.ask(mcp.MethodInitialize, `{"protocolVersion":"`+asked+`","capabilities":{}}`).Result
		if got := mcp.Text(mcp.Member(r, "protocolVersion")); got != want {
			t.Errorf("asked for %s, got %s", asked, got)
		}
	}
	if r := s.ask(mcp.MethodListTools, `{`+modern+`}`).Result; mcp.Text(mcp.Member(r, "resultType")) != "complete" {
		t.Errorf("no resultType: %s", r)
	}
	if r := s.ask(mcp.MethodPing, `{}`).Result; string(r) != `{}` {
		t.Errorf("ping: %s", r)
	}
	for code, m := range map[int]*mcp.Message{
		mcp.CodeMethodNotFound:     s.ask("prompts/list", `{}`),
		mcp.CodeInvalidParams:      s.ask(mcp.MethodCallTool, `{"name":"Read_file","arguments":{}}`),
		mcp.CodeUnsupportedVersion: s.ask(mcp.MethodListTools, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2999-01-01"}}`),
	} {
		if e := m.Err(); e == nil || e.Code != code {
			t.Errorf("got %v, want code %d", e, code)
		}
	}
	if m, err := s.Handle(t.Context(), mcp.Notification(mcp.NotifyInitialized, nil), mcp.Nobody); m != nil || err != nil {
		t.Errorf("a notification was answered: %v, %v", m, err)
	}
}

func TestDefinitions(t *testing.T) {
	s := serve(t, nil)
	for _, name := range []string{"read_file", "list_files", "search_text"} {
		tool := s.tool(name)
		if tool.Title == "" || tool.Description == "" || tool.Annotations.Title == "" ||
			tool.Annotations.ReadOnly == nil || !*tool.Annotations.ReadOnly || tool.Annotations.OpenWorld == nil || *tool.Annotations.OpenWorld {
			t.Errorf("%s: %+v", name, tool)
		}
		if _, err := schema.Compile(tool.InputSchema); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestArguments(t *testing.T) {
	s := serve(t, map[string]string{"a": "text\n"})
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{}`, `"path" is required`},
		{"read_file", `null`, `"path" is required`},
		{"read_file", `{"Path":"a"}`, `"Path" is not known`},
		{"read_file", `{"path":"a","lines":1}`, `"lines" is not known`},
		{"read_file", `{"path":7}`, `"path" can't be a number`},
		{"read_file", `{"path":"a","offset":0}`, `must be 1 or more`},
		{"read_file", `{"path":"a","offset":1.5}`, `"offset" can't be a number`},
		{"read_file", `[]`, `one JSON object`},
		{"list_files", `{"limit":10001}`, `from 1 to 10000`},
		{"list_files", `{"pattern":"[a"}`, `not valid`},
		{"list_files", `{"pattern":"` + strings.Repeat("{a,b}", 20) + `"}`, `too many alternatives`},
		{"search_text", `{}`, `"query" must have`},
		{"search_text", `{"query":"(","regex":true}`, `no RE2`},
		{"search_text", `{"query":"(?=x)","regex":true}`, `no RE2`},
		{"search_text", `{"query":"(a{500}){2}b{900}c{900}","regex":true}`, `too large`},
	} {
		if got := s.refused(c.tool, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s", c.tool, c.args, got)
		}
	}
}

func TestFolderMustExist(t *testing.T) {
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "none"), os.DevNull} {
		if _, _, err := Files(dir); err == nil {
			t.Errorf("%q was opened", dir)
		}
	}
}

func TestClosed(t *testing.T) {
	h, closer, err := Files(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := h.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, json.RawMessage(`{"name":"list_files"}`)), mcp.Nobody)
	if err != nil || !strings.Contains(mcp.ResultText(m.Result), "closed") {
		t.Errorf("%v, %v", m, err)
	}
}

func TestCancelled(t *testing.T) {
	s := serve(t, map[string]string{"a": "text\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, params := range []string{`{"name":"read_file","arguments":{"path":"a"}}`, `{"name":"list_files"}`, `{"name":"search_text","arguments":{"query":"x"}}`} {
		if _, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, json.RawMessage(params)), mcp.Nobody); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", params, err)
		}
	}
}

package gateway

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/usher-mcp/usher/mcp"
)

// checkMirror answers a modern request whose headers aren't what its body says: a proxy between us and the client would
// have judged another request (2026-07-28, "Standard headers"). Nil: they agree. Mcp-Param-* isn't looked at yet.
func checkMirror(h http.Header, m *mcp.Message, meta metadata) *mcp.Message {
	want := [...]struct{ header, value string }{
		{mcp.HeaderRevision, mcp.Text(meta.version)}, {mcp.HeaderMethod, m.Method}, {mcp.HeaderName, ""},
	}
	n := 2
	if m.Method == mcp.MethodCallTool || m.Method == mcp.MethodGetPrompt {
		want[2].value = mcp.Text(mcp.Member(m.Params, "name"))
		n = 3
	}
	for _, w := range want[:n] {
		values := h[w.header]
		switch {
		case len(values) == 0:
			return mismatch(m, "the header "+w.header+" is missing")
		case len(values) > 1:
			return mismatch(m, "the header "+w.header+" is there twice")
		}
		got, ok := values[0], true
		if w.header == mcp.HeaderName {
			got, ok = decodeValue(got)
		}
		if !ok || got != w.value {
			return mismatch(m, "the header "+w.header+" is not what the body says")
		}
	}
	return nil
}

func mismatch(m *mcp.Message, text string) *mcp.Message {
	return mcp.ErrorAnswer(m.ID, mcp.CodeHeaderMismatch, text, nil)
}

// decodeValue reads a value of Mcp-Name (2026-07-28, "Value encoding").
func decodeValue(s string) (string, bool) {
	in, ok := strings.CutPrefix(s, "=?base64?")
	if !ok {
		return s, true
	}
	if in, ok = strings.CutSuffix(in, "?="); !ok {
		return s, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(in)
	return string(b), err == nil && utf8.Valid(b)
}

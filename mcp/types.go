package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
)

// Implementation names a client or a server. It is self-reported: for display, never for a decision.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Tool is what Usher looks into of a tool's definition. Raw holds the definition as it came.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  Annotations     `json:"annotations"`

	Raw json.RawMessage `json:"-"`
}

// Annotations are a server's own hints about a tool. Nil means that the server didn't say. They are untrusted.
type Annotations struct {
	Title       string `json:"title"`
	ReadOnly    *bool  `json:"readOnlyHint"`
	Destructive *bool  `json:"destructiveHint"`
	Idempotent  *bool  `json:"idempotentHint"`
	OpenWorld   *bool  `json:"openWorldHint"`
}

// ParseTool reads one element of a tools/list result.
func ParseTool(raw json.RawMessage) (Tool, error) {
	t := Tool{Raw: raw}
	if err := jsonv2.Unmarshal(raw, &t); err != nil {
		return t, fmt.Errorf("a tool definition can't be read: %w", err)
	}
	if t.Name == "" {
		return t, errors.New("a tool definition without a name")
	}
	return t, nil
}

// IsError reports whether a tools/call result says that the tool failed.
func IsError(result json.RawMessage) bool { return string(Member(result, "isError")) == "true" }

// ResultText returns the text blocks of a tools/call result, joined by line ends.
func ResultText(result json.RawMessage) string { return ResultPreview(result, math.MaxInt) }

// TextResult makes a tools/call result of one text block.
func TextResult(text string, isError bool) json.RawMessage {
	b := append([]byte(`{"content":[{"type":"text","text":`), Quote(text)...)
	b = append(b, `}]`...)
	if isError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}')
}

// ResultPreview is ResultText, of at most limit bytes.
func ResultPreview(result json.RawMessage, limit int) string {
	var b strings.Builder
	for block := range Elements(Member(result, "content")) {
		if Text(Member(block, "type")) != "text" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(Text(Member(block, "text")))
		if b.Len() >= limit {
			return b.String()[:limit]
		}
	}
	return b.String()
}

// Cut shortens s to at most limit characters and marks the cut.
func Cut(s string, limit int) string {
	const mark = "… [cut by usher]"
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := 0
	for i := range s {
		if runes++; runes > limit-len(mark)+len("…")-1 {
			return s[:i] + mark
		}
	}
	return s
}

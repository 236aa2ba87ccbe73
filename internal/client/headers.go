package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/usher-mcp/usher/mcp"
)

// headerTable holds, by the server's own tool name, what a modern server behind HTTP wants repeated in headers
// (2026-07-28, "Custom headers from tool parameters").
type headerTable map[string][]headerParam

// headerParam is one argument that is repeated.
type headerParam struct {
	name string   // of the header, without Mcp-Param-
	path []string // member names below the arguments
}

// mirror makes what an HTTP transport repeats of a request; nil if the Conn is none.
func (s *Session) mirror(method string, params json.RawMessage, h *headerTable) *mcp.Mirror {
	if s.handler == nil || s.way.info.Era != mcp.Modern {
		return s.way.mirror
	}
	m := &mcp.Mirror{Revision: s.way.info.Revision, Method: method}
	if key := nameKey(method); key != "" {
		m.Name = mcp.Text(mcp.Member(params, key))
	}
	if method == mcp.MethodCallTool && h != nil {
		arguments := mcp.Member(params, "arguments")
		for _, p := range (*h)[m.Name] {
			if v, ok := headerValue(mcp.Path(arguments, p.path...)); ok {
				m.Params = append(m.Params, mcp.Param{Name: p.name, Value: v})
			}
		}
	}
	return m
}

// nameKey is the member of params that Mcp-Name repeats.
func nameKey(method string) string {
	switch method {
	case mcp.MethodCallTool, mcp.MethodGetPrompt:
		return "name"
	case mcp.MethodReadResource:
		return "uri"
	case mcp.MethodGetTask, mcp.MethodUpdateTask, mcp.MethodCancelTask:
		return "taskId"
	}
	return ""
}

// headerValue writes a raw argument as a header's plain value; absent, null and nested values have none.
func headerValue(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '"':
		return mcp.Text(raw), true
	case 't', 'f':
		return string(raw), true
	case 'n', '{', '[':
		return "", false
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil && strings.ContainsAny(string(raw), ".eE") &&
		f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatInt(int64(f), 10), true // 1.0 is an integer to JSON Schema
	}
	return string(raw), true
}

// headersRefused tells the one answer after which a request is sent again: the server ran nothing, because the headers
// that it wants have changed since the tools were listed.
func (s *Session) headersRefused(method string, answer *mcp.Message) bool {
	return s.handler != nil && s.way.info.Era == mcp.Modern && method == mcp.MethodCallTool &&
		answer.Err().Code == mcp.CodeHeaderMismatch
}

// newHeaders lists the tools again, unless another call did since before was read, and reports whether the headers of
// the tool in params are others now.
func (s *Session) newHeaders(ctx context.Context, params json.RawMessage, before *headerTable) bool {
	select {
	case s.listing <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-s.listing }()
	if s.headers.Load() == before {
		_, _ = s.Tools(ctx) // what came is in the table; the refusal is reported if it didn't help
	}
	name := mcp.Text(mcp.Member(params, "name"))
	return !slices.EqualFunc(before.of(name), s.headers.Load().of(name), func(a, b headerParam) bool {
		return a.name == b.name && slices.Equal(a.path, b.path)
	})
}

func (t *headerTable) of(tool string) []headerParam {
	if t == nil {
		return nil
	}
	return (*t)[tool]
}

const (
	headerKey  = "x-mcp-header"
	maxHeaders = 64 // of one tool; HTTP servers take some 100 in all
	maxFailed  = 3  // after so many mistakes the rest isn't looked at
)

// schemaHeaders collects the annotations of an input schema. An error says why the tool must not be offered.
func schemaHeaders(schema json.RawMessage) ([]headerParam, error) {
	if !bytes.Contains(schema, []byte(headerKey)) && bytes.IndexByte(schema, '\\') < 0 {
		return nil, nil
	}
	var w headerWalk
	w.schema(schema, nil, true)
	return w.found, errors.Join(w.errs...)
}

type headerWalk struct {
	found []headerParam
	errs  []error
}

func (w *headerWalk) fail(format string, args ...any) {
	if len(w.errs) < maxFailed {
		w.errs = append(w.errs, fmt.Errorf(headerKey+": "+format, args...))
	}
}

// schema walks one schema. Direct says that only `properties` led to it.
func (w *headerWalk) schema(b []byte, path []string, direct bool) {
	if annotation := mcp.Member(b, headerKey); annotation != nil {
		w.annotation(b, annotation, path, direct)
	}
	for key, value := range mcp.Members(b) {
		if len(w.errs) == maxFailed {
			return
		}
		switch k := mcp.Text(key); k {
		case "properties":
			for name, sub := range mcp.Members(value) {
				if len(w.errs) == maxFailed {
					return
				}
				w.schema(sub, append(slices.Clip(path), mcp.Text(name)), direct)
			}
		case "$defs", "definitions", "patternProperties", "dependentSchemas":
			for _, sub := range mcp.Members(value) {
				w.schema(sub, path, false)
			}
		case "items", "prefixItems", "additionalItems", "contains", "oneOf", "anyOf", "allOf", "not", "if", "then", "else",
			"additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema":
			w.schema(value, path, false)
			for sub := range mcp.Elements(value) {
				w.schema(sub, path, false)
			}
		}
	}
}

func (w *headerWalk) annotation(schema, raw []byte, path []string, direct bool) {
	name := mcp.Text(raw)
	switch kind := mcp.Text(mcp.Member(schema, "type")); {
	case !direct || len(path) == 0:
		w.fail("%.64q isn't on a property that `properties` alone lead to", name)
	case !isHeaderToken(name):
		w.fail("%.64s is no header name", raw)
	case kind != "string" && kind != "integer" && kind != "boolean":
		w.fail("%q is on a property that is no string, integer or boolean", name)
	case len(w.found) == maxHeaders:
		w.fail("it is there more than %d times", maxHeaders)
	case slices.ContainsFunc(w.found, func(p headerParam) bool { return strings.EqualFold(p.name, name) }):
		w.fail("%q is there twice", name)
	default:
		w.found = append(w.found, headerParam{name: name, path: path})
	}
}

// isHeaderToken tells a token of RFC 9110, section 5.6.2.
func isHeaderToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

package client

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// 2026-07-28, "Custom headers from tool parameters": which annotations are valid.
func TestSchemaHeaders(t *testing.T) {
	property := func(p string) string { return `{"type":"object","properties":{"a":` + p + `}}` }
	for schema, want := range map[string]string{ // name:path …, or ! for a tool to be dropped
		`{"type":"object"}`: "",
		property(`{"type":"string","x-mcp-header":"Region"}`):                                                "Region:a",
		property(`{"type":"string","x\u002dmcp-header":"Region"}`):                                           "Region:a",
		property(`{"type":"integer","x-mcp-header":"N"}`):                                                    "N:a",
		property(`{"type":"boolean","x-mcp-header":"a-b_c.d"}`):                                              "a-b_c.d:a",
		property(`{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"B"}}}`):                "B:a/b",
		property(`{"type":"number","x-mcp-header":"N"}`):                                                     "!",
		property(`{"type":"object","x-mcp-header":"N"}`):                                                     "!",
		property(`{"x-mcp-header":"N"}`):                                                                     "!",
		property(`{"type":["string","null"],"x-mcp-header":"N"}`):                                            "!",
		property(`{"type":"string","x-mcp-header":""}`):                                                      "!",
		property(`{"type":"string","x-mcp-header":7}`):                                                       "!",
		property(`{"type":"string","x-mcp-header":"a b"}`):                                                   "!",
		property(`{"type":"string","x-mcp-header":"a\r\nb"}`):                                                "!",
		property(`{"type":"string","x-mcp-header":"ä"}`):                                                     "!",
		property(`{"type":"string","x-mcp-header":"a:b"}`):                                                   "!",
		`{"properties":{"a":{"type":"string","x-mcp-header":"X"},"b":{"type":"string","x-mcp-header":"x"}}}`: "!",
		`{"type":"string","x-mcp-header":"Root"}`:                                                            "!",
		property(`{"type":"array","items":{"type":"string","x-mcp-header":"I"}}`):                            "!",
		property(`{"items":{"properties":{"b":{"type":"string","x-mcp-header":"I"}}}}`):                      "!",
		property(`{"anyOf":[{"type":"string","x-mcp-header":"I"}]}`):                                         "!",
		`{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"I"}}}]}`:                              "!",
		`{"if":{"properties":{"a":{"type":"string","x-mcp-header":"I"}}}}`:                                   "!",
		`{"not":{"properties":{"a":{"type":"string","x-mcp-header":"I"}}}}`:                                  "!",
		`{"$defs":{"a":{"type":"string","x-mcp-header":"I"}},"properties":{"a":{"$ref":"#/$defs/a"}}}`:       "!",
		`{"patternProperties":{"a":{"type":"string","x-mcp-header":"I"}}}`:                                   "!",
		`{"additionalProperties":{"type":"string","x-mcp-header":"I"}}`:                                      "!",
		`{"properties":{"x-mcp-header":{"type":"string"}}}`:                                                  "", // a name, no annotation
		property(`{"default":{"x-mcp-header":"N"},"enum":[{"x-mcp-header":"N"}]}`):                           "", // data, no schema
		property(`true`): "",
		`[]`:             "",
	} {
		found, err := schemaHeaders([]byte(schema))
		var got []string
		for _, h := range found {
			got = append(got, h.name+":"+strings.Join(h.path, "/"))
		}
		if err != nil {
			got = []string{"!"}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: got %q (%v), want %q", schema, s, err, want)
		}
	}
}

func TestHeaderValue(t *testing.T) {
	for raw, want := range map[string]string{
		`"x"`: "x", `"\u00fc\n"`: "ü\n", `true`: "true", `false`: "false", `7`: "7", `-7`: "-7", `1.0`: "1", `1e2`: "100",
		`9007199254740993`: "9007199254740993", `1.5`: "1.5", `""`: "",
		`null`: "!", `{}`: "!", `[]`: "!", ``: "!",
	} {
		if v, ok := headerValue([]byte(raw)); !ok && want != "!" || ok && v != want {
			t.Errorf("%s: got %q, %v, want %q", raw, v, ok, want)
		}
	}
}

// A5: a tool that wants thousands of headers is dropped, and soon: comparing each with all took minutes.
func TestTooManyHeaders(t *testing.T) {
	annotated := func(n int) []byte {
		var b strings.Builder
		b.WriteString(`{"properties":{"":{}`)
		for i := range n {
			fmt.Fprintf(&b, `,"%d":{"type":"string","x-mcp-header":"h%d"}`, i, i)
		}
		return []byte(b.String() + `}}`)
	}
	if found, err := schemaHeaders(annotated(maxHeaders)); err != nil || len(found) != maxHeaders {
		t.Errorf("%d headers: %d, %v", maxHeaders, len(found), err)
	}
	started := time.Now()
	_, err := schemaHeaders(annotated(200_000))
	if took := time.Since(started); err == nil || took > 5*time.Second {
		t.Errorf("200,000 headers: %v after %v", err, took)
	}
}

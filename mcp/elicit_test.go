package mcp

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Conformance elicitation-sep1034-client-defaults.
func TestFillDefaults(t *testing.T) {
	const schema = `{"type":"object","properties":{"name":{"type":"string","default":"J\u002F"},"age":{"type":"integer","default":1.0},` +
		`"ok":{"type":"boolean","default":false},"tags":{"type":"array","default":["a"]},"free":{"type":"string"}},"required":["name"]}`
	for _, c := range [][3]string{
		{schema, ``, `{"name":"J\u002F","age":1.0,"ok":false,"tags":["a"]}`},
		{schema, ` { } `, ` { "name":"J\u002F","age":1.0,"ok":false,"tags":["a"]} `},
		{schema, `{"n\u0061me":null,"x":2.50,"ok":true}`, `{"n\u0061me":null,"x":2.50,"ok":true,"age":1.0,"tags":["a"]}`},
		{schema, `[1]`, `[1]`},
		{schema, `null`, `null`},
		{`{}`, `{}`, `{}`},
		{``, ``, `{}`},
		{`{"properties":{"a":true,"b":{"default":null}}}`, `{}`, `{"b":null}`},
	} {
		if got := string(FillDefaults([]byte(c[0]), []byte(c[1]))); got != c[2] {
			t.Errorf("%s with the defaults of %s became %s, want %s", c[1], c[0], got, c[2])
		}
	}
}

// A5: a form of many fields takes some tenths of a second, not minutes.
func TestFillManyDefaults(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"properties":{"":{}`)
	for i := range 100_000 {
		fmt.Fprintf(&b, `,"%d":{"default":0}`, i)
	}
	b.WriteString(`}}`)
	started := time.Now()
	out := FillDefaults([]byte(b.String()), nil)
	if took := time.Since(started); took > 5*time.Second || string(Member(out, "99999")) != "0" || Validate(out) != nil {
		t.Errorf("%d bytes after %v", len(out), took)
	}
}

func FuzzFillDefaults(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"default":1.0},"b":{"default":"x"}}}`), []byte(`{"a":2}`))
	f.Add([]byte(`{"properties":{"\u0061":{"default":{}},"b":7}}`), []byte(` {} `))
	f.Fuzz(func(t *testing.T, schema, content []byte) {
		if Validate(schema) != nil || Validate(content) != nil {
			return
		}
		out := FillDefaults(schema, content)
		if err := Validate(out); err != nil && checkDepth(out) == nil {
			t.Fatalf("%s with %s became %s: %v", content, schema, out, err)
		}
		for key, v := range Members(content) {
			if got := Member(out, Text(key)); string(got) != string(v) {
				t.Fatalf("%s became %s", key, got)
			}
		}
	})
}

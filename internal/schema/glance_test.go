package schema

import (
	"encoding/json"
	"testing"

	"github.com/usher-mcp/usher/mcp"
)

const simple = `{"type":"object","title":"t","properties":{"s":{"type":"string","description":"d"},"i":{"type":"integer","default":1},
	"n":{"type":"number"},"b":{"type":"boolean"},"e":{"type":"string","enum":["x"]},"a":{"type":"array"}},"required":["s"]}`

// D6: what is accepted at a glance is what the library accepts, and the usual is.
func TestGlance(t *testing.T) {
	p := glanceOf([]byte(simple))
	for args, want := range map[string]bool{
		`{"s":"x"}`: true,
		`{"s":"x","i":-7,"n":1.5,"b":false,"other":[1,2]}`: true,
		`{"s":""}`:                    true,
		`{}`:                          false,
		`{"s":7}`:                     false,
		`{"s":"x","i":1.0}`:           false, // valid, but the library's to say
		`{"s":"x","i":"1"}`:           false,
		`{"s":"x","n":1e5}`:           false,
		`{"s":"x","b":null}`:          false,
		`{"s":"x","e":"y"}`:           false,
		`{"s":"x","a":[]}`:            false,
		`{"\u0073":"x"}`:              false,
		`[]`:                          false,
		``:                            false,
		`{"i":1,"i2":1,"n":1,"b":0} `: false,
	} {
		if got := p.accepts(json.RawMessage(args)); got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
	for _, schema := range []string{
		`{"type":"object","minProperties":1}`, `{"type":["object"]}`, `{"properties":{}}`, `{"type":"object","allOf":[]}`, `true`, ``,
		`{"type":"object","patternProperties":{}}`,
	} {
		if glanceOf([]byte(schema)) != nil {
			t.Errorf("%s counts as plain", schema)
		}
	}
	if p := glanceOf([]byte(`{"type":"object","properties":{"a":true},"additionalProperties":false}`)); p == nil || p.accepts([]byte(`{"b":1}`)) || !p.accepts([]byte(`{}`)) {
		t.Error("a closed schema")
	}
}

func FuzzGlance(f *testing.F) {
	f.Add(simple, `{"s":"x","i":1}`)
	f.Add(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a","a"]}`, `{"a":1}`)
	f.Add(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"number"}}}`, `{"a":1.0}`)
	f.Add(`{"type":"object","additionalProperties":{"type":"string"}}`, `{"a":1}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		if mcp.Validate([]byte(schema)) != nil || mcp.Validate([]byte(args)) != nil {
			return
		}
		c, err := Compile([]byte(schema))
		if err != nil || !c.glance.accepts([]byte(args)) {
			return
		}
		c.glance = nil
		if err := c.Check([]byte(args)); err != nil {
			t.Errorf("%s accepted %s at a glance; the library says %v", schema, args, err)
		}
	})
}

func BenchmarkGlance(b *testing.B) {
	c, err := Compile([]byte(simple))
	if err != nil {
		b.Fatal(err)
	}
	args := []byte(`{"s":"a small argument","i":7}`)
	b.ReportAllocs()
	for b.Loop() {
		if c.Check(args) != nil {
			b.Fatal("refused")
		}
	}
}

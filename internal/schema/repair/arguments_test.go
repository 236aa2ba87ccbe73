package repair

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
)

// forth gives arguments the names of Schema.
func forth(r *Repaired, args json.RawMessage) (json.RawMessage, error) {
	renamed := map[string]string{}
	for to, name := range maps.All(r.original) {
		renamed[name] = to
	}
	return r.translate(args, renamed, false)
}

const oddNames = `{"type":"object","properties":{"ids[]":{"type":"array","items":{"type":"object","properties":{"a b":{},"free":{"type":"object","additionalProperties":true}}}},
 "名":{"additionalProperties":{"$ref":"#/$defs/x"}},"u":{"anyOf":[{"type":"string"},{"properties":{"a b":{}}}]},"t":{"prefixItems":[{},{"properties":{"a b":{}}}]}},
 "$defs":{"x":{"properties":{"x/y":{"type":"string"}}}}}`

// case-139: both ways. What the model wrote under a new name reaches the server under the tool's own.
func TestArguments(t *testing.T) {
	r := repaired(t, oddNames)
	x := r.names(t, "名")
	for _, c := range []struct{ model, server string }{
		{`{}`, `{}`},
		{``, ``},
		{`[]`, `[]`},
		{` { "ids__" : [ {"a_b":1.0} , {} ] , "z": 9007199254740993 } `, ` { "ids[]" : [ {"a b":1.0} , {} ] , "z": 9007199254740993 } `},
		{`{"ids__":[{"free":{"a_b":1,"ids__":2}}],"a_b":3}`, `{"ids[]":[{"free":{"a_b":1,"ids__":2}}],"a_b":3}`}, // free-form data stays
		{`{"\u0069ds__":[]}`, `{"ids[]":[]}`},
		{`{"ids[]":[{"a b":1}]}`, `{"ids[]":[{"a b":1}]}`}, // the original is understood too
		{`{"` + x + `":{"k":{"x_y":"\u002F"}}}`, `{"名":{"k":{"x/y":"\u002F"}}}`},
		{`{"u":{"a_b":1},"t":[{"a_b":1},{"a_b":1},{"a_b":1}]}`, `{"u":{"a b":1},"t":[{"a_b":1},{"a b":1},{"a_b":1}]}`},
		{`{"u":"a_b"}`, `{"u":"a_b"}`},
	} {
		got, err := r.Arguments(json.RawMessage(c.model))
		if err != nil || string(got) != c.server {
			t.Errorf("%s\ngot  %s %v\nwant %s", c.model, got, err, c.server)
		}
	}
	if _, err := r.Arguments(json.RawMessage(`{"ids__":[],"ids[]":[]}`)); err == nil || !strings.Contains(err.Error(), `"ids[]" is given under two names`) {
		t.Error(err)
	}
	if !r.Renamed() || repaired(t, `{}`).Renamed() {
		t.Error("Renamed")
	}
}

func (r *Repaired) names(t *testing.T, name string) string {
	t.Helper()
	for to, from := range r.original {
		if from == name {
			return to
		}
	}
	t.Fatalf("%s isn't renamed: %v", name, r.original)
	return ""
}

func TestArgumentsThatNeedNothing(t *testing.T) {
	in := json.RawMessage(`{"a": 1}`)
	for _, schema := range []string{`{}`, oddNames} {
		got, err := Repair(json.RawMessage(schema)).Arguments(in)
		if err != nil || &got[0] != &in[0] {
			t.Errorf("%s: copied, or %v", schema, err)
		}
	}
}

// A translation ends, whatever schema and arguments are.
func TestArgumentsAreBounded(t *testing.T) {
	r := Repair(json.RawMessage(`{"type":"object","properties":{"a b":{"type":"array","items":{"anyOf":[` + strings.Repeat(`{"properties":{"a b":{}}},`, 3000) + `{}]}}}}`))
	_, err := r.Arguments(json.RawMessage(`{"a_b":[` + strings.Repeat(`{"a_b":1},`, 10_000) + `1]}`))
	if !errors.Is(err, errSteps) {
		t.Error(err)
	}
}

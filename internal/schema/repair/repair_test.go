package repair

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
)

// repaired checks what holds for every schema, and returns the result.
func repaired(t *testing.T, in string) *Repaired {
	t.Helper()
	r := Repair(json.RawMessage(in))
	if err := accept(r.Schema); err != nil {
		t.Fatalf("%s\nbecomes %s\nwhich is refused: %v", clip(in, 3000), clip(string(r.Schema), 3000), err)
	}
	if len(r.Schema) > MaxBytes {
		t.Fatalf("%d bytes", len(r.Schema))
	}
	if again := Repair(r.Schema); string(again.Schema) != string(r.Schema) || len(again.Changes) > 0 {
		t.Fatalf("%s\nbecomes %s\nand then %s: %q", clip(in, 3000), clip(string(r.Schema), 3000), clip(string(again.Schema), 3000), again.Changes)
	}
	if second := Repair(json.RawMessage(in)); string(second.Schema) != string(r.Schema) || fmt.Sprint(second.Changes) != fmt.Sprint(r.Changes) {
		t.Fatalf("%s: not the same twice", clip(in, 3000))
	}
	if len(r.Changes) == 0 && string(r.Schema) != in {
		t.Fatalf("%s is changed to %s without a word", clip(in, 3000), clip(string(r.Schema), 3000))
	}
	for _, line := range r.Changes {
		if len(line) > 500 || strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
			t.Fatalf("%q is not printable", line)
		}
	}
	return r
}

func TestRepair(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"untouched", ` {"type":"object", "properties":{"a":{"type":["string","null"],"default":1.0}},"required":["a"]}`,
			` {"type":"object", "properties":{"a":{"type":["string","null"],"default":1.0}},"required":["a"]}`},
		{"nothing", ``, `{"type":"object","properties":{}}`},
		{"no schema", `7`, `{"type":"object","properties":{}}`},
		{"true", `true`, `{"type":"object","properties":{}}`},
		{"false", `false`, `{"type":"object","properties":{}}`},
		{"empty", `{}`, `{"type":"object","properties":{}}`},
		{"no properties", `{"type":"object"}`, `{"type":"object","properties":{}}`},
		{"types at the root", `{"type":["object","null"],"properties":{}}`, `{"type":"object","properties":{}}`},
		{"other type", `{"type":"string"}`, `{"type":"object","properties":{}}`},
		{"dialect", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"x","type":"object","properties":{}}`, `{"type":"object","properties":{}}`},
		// case-145
		{"no items", `{"type":"object","properties":{"a":{"type":"array"},"b":{"type":"array","items":{"type":"object"}}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"type":"array","items":{"type":"object","properties":{}}}}}`},
		// case-144
		{"root anyOf of required", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"description":"Needs one of: a; b."}`},
		{"root oneOf of objects", `{"oneOf":[{"type":"object","properties":{"kind":{"const":"f"},"path":{"type":"string"}},"required":["kind","path"],"additionalProperties":false},
 {"type":"object","properties":{"kind":{"const":"u"},"url":{"type":"string"}},"required":["kind","url"],"additionalProperties":false}]}`,
			`{"type":"object","additionalProperties":false,"properties":{"kind":{"enum":["f","u"]},"path":{"type":"string"},"url":{"type":"string"}},"required":["kind"],` +
				`"description":"Needs one of: kind = \"f\" and path; kind = \"u\" and url."}`},
		{"root allOf", `{"allOf":[{"$ref":"#/$defs/a"},{"properties":{"y":{"type":"string"}},"required":["y"]}],"$defs":{"a":{"type":"object","properties":{"x":{}},"required":["x"]}}}`,
			`{"type":"object","properties":{"x":{},"y":{"type":"string"}},"required":["x","y"]}`},
		{"root allOf narrows", `{"type":"object","properties":{"x":{"type":"string","description":"d"}},"allOf":[{"properties":{"x":{"enum":["a"]}}}]}`,
			`{"type":"object","properties":{"x":{"type":"string","description":"d","enum":["a"]}}}`},
		{"root not", `{"type":"object","properties":{},"not":{"required":["a"]}}`, `{"type":"object","properties":{}}`},
		{"nested oneOf", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`},
		{"nested both", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}],"anyOf":[{"minLength":1}]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"minLength":1}],"allOf":[{"anyOf":[{"type":"string"}]}]}}}`},
		// case-138, 139
		{"odd names", `{"type":"object","properties":{"ids[]":{"type":"array","items":{}},"a b":{"description":"d"}},"required":["ids[]"]}`,
			`{"type":"object","properties":{"ids__":{"type":"array","items":{},"description":"Original name: ids[]"},"a_b":{"description":"d\nOriginal name: a b"}},"required":["ids__"]}`},
		{"odd name taken", `{"type":"object","properties":{"a b":{},"a_b":{}}}`,
			`{"type":"object","properties":{"a_b_c8687a08":{"description":"Original name: a b"},"a_b":{}}}`},
		// case-147
		{"called like keywords", `{"type":"object","properties":{"properties":{"type":"object"},"type":{"type":"string"},"required":{"type":"boolean"},"$ref":{"type":"string"},"oneOf":{"type":"array","items":{"type":"string"}}}}`,
			`{"type":"object","properties":{"properties":{"type":"object","properties":{}},"type":{"type":"string"},"required":{"type":"boolean"},"_ref":{"type":"string","description":"Original name: $ref"},"oneOf":{"type":"array","items":{"type":"string"}}}}`},
		{"data", `{"type":"object","properties":{"a":{"const":{"$ref":"#/x","type":"array"},"default":{"oneOf":[true]},"enum":[{"$schema":"x"}],"examples":[{"type":"object"}]},"b":true}}`,
			`{"type":"object","properties":{"a":{"const":{"$ref":"#/x","type":"array"},"default":{"oneOf":[true]},"enum":[{"$schema":"x"}],"examples":[{"type":"object"}]},"b":{}}}`},
		{"numbers", `{"type":"object","properties":{"a":{"minimum":1.0,"maximum":9007199254740993,"multipleOf":1e-2,"default":1E2},"b":true}}`,
			`{"type":"object","properties":{"a":{"minimum":1.0,"maximum":9007199254740993,"multipleOf":1e-2,"default":1E2},"b":{}}}`},
		{"booleans", `{"type":"object","properties":{"a":false,"b":{"type":"array","items":true}},"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"not":{}},"b":{"type":"array","items":{}}},"additionalProperties":false}`},
		// case-148
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"minimum":1,"exclusiveMinimum":true},"b":{"maximum":2,"exclusiveMaximum":false}}}`,
			`{"type":"object","properties":{"a":{"exclusiveMinimum":1},"b":{"maximum":2}}}`},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"items":[{"type":"string"}],"additionalItems":false},"b":{"$ref":"#/definitions/x","minimum":3,"description":"d"}},` +
			`"dependencies":{"a":["b"],"b":{"required":["a"]}},"definitions":{"x":{"type":"integer"}}}`,
			`{"type":"object","properties":{"a":{"prefixItems":[{"type":"string"}],"items":{"not":{}}},"b":{"type":"integer","description":"d"}},"dependentRequired":{"a":["b"]},"dependentSchemas":{"b":{"required":["a"],"properties":{"a":{}}}}}`},
		// case-151, 157
		{"beside a $ref", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x","maximum":3}},"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"type":"integer"}}}`,
			`{"type":"object","properties":{"a":{"maximum":3,"allOf":[{"type":"integer"}]}}}`},
		{"pointer", `{"type":"object","properties":{"a/b":{"type":"null"},"c":{"$ref":"#/properties/a~1b"},"d":{"$ref":"#/properties/a%7E1b"}}}`,
			`{"type":"object","properties":{"a_b":{"type":"null","description":"Original name: a/b"},"c":{"type":"null"},"d":{"type":"null"}}}`},
		{"anchor", `{"type":"object","properties":{"a":{"$ref":"#n"}},"$defs":{"x":{"$anchor":"n","type":"null"}}}`, `{"type":"object","properties":{"a":{"type":"null"}}}`},
		{"own address", `{"$id":"http://x.invalid/s","type":"object","properties":{"a":{"$ref":"http://x.invalid/s#/$defs/n"}},"$defs":{"n":{"type":"null"}}}`,
			`{"type":"object","properties":{"a":{"type":"null"}}}`},
		{"embedded", `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"$id":"http://x.invalid/n","$ref":"#/$defs/m","$defs":{"m":{"type":"null"}}},"m":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"type":"null"}}}`},
		{"dangling", `{"type":"object","properties":{"a":{"$ref":"#/$defs/none","description":"d"},"b":{"$dynamicRef":"#x"}}}`,
			`{"type":"object","properties":{"a":{"description":"d"},"b":{}}}`},
		// case-141
		{"recursive", `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","description":"A node","properties":{"k":{"type":"array","items":{"$ref":"#/$defs/n"}}}}}}`,
			`{"type":"object","properties":{"n":{"type":"object","description":"A node","properties":{"k":{"type":"array","items":{"type":"object","description":"A node","properties":{"k":{"type":"array",` +
				`"items":{"type":"object","description":"A node","properties":{}}}}}}}}}}`},
		{"recursive root", `{"type":"object","properties":{"c":{"$ref":"#"}}}`,
			`{"type":"object","properties":{"c":{"type":"object","properties":{"c":{"type":"object","description":"As described further up","properties":{}}}}}}`},
		{"itself", `{"$ref":"#"}`, `{"type":"object","description":"As described further up","properties":{}}`},
		{"not loosened", `{"type":"object","properties":{"a":{"not":{"oneOf":[{"type":"string"},{"type":"null"}]}},"b":{"not":{"type":"null"}}}}`,
			`{"type":"object","properties":{"a":{},"b":{"not":{"type":"null"}}}}`},
		{"if loosened", `{"type":"object","properties":{"a":{"then":{"type":"string"},"if":{"pattern":"(?=x)"},"else":false}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"contains loosened", `{"type":"object","properties":{"a":{"contains":{"oneOf":[true,{"type":"string"}]},"maxContains":1},"b":{"contains":{"type":"null"},"maxContains":1}}}`,
			`{"type":"object","properties":{"a":{"contains":{"anyOf":[{},{"type":"string"}]}},"b":{"contains":{"type":"null"},"maxContains":1}}}`},
		{"rules for names", `{"type":"object","properties":{"a b":{}},"propertyNames":{"pattern":"^a b$"}}`,
			`{"type":"object","properties":{"a_b":{"description":"Original name: a b"}}}`},
		{"rules for names that stay", `{"type":"object","properties":{"a":true},"propertyNames":{"pattern":"^a$"}}`,
			`{"type":"object","properties":{"a":{}},"propertyNames":{"pattern":"^a$"}}`},
		{"names of dependencies", `{"type":"object","properties":{"a b":{}},"dependentRequired":{"a b":["c d"]},"dependentSchemas":{"c d":{"required":["e f"]}}}`,
			`{"type":"object","properties":{"a_b":{"description":"Original name: a b"}},"dependentRequired":{"a_b":["c_d"]},"dependentSchemas":{"c_d":{"required":["e_f"],"properties":{"e_f":{}}}}}`},
		{"alternatives that are no objects", `{"anyOf":[{"type":"null"},{"type":"object","properties":{"a":{}},"required":["a"]}]}`,
			`{"type":"object","properties":{"a":{}},"required":["a"]}`},
		{"alternatives of one property", `{"anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"a":{"type":"integer"}}}]}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`},
		{"alternatives in alternatives", `{"anyOf":[{"allOf":[{"required":["a"]},{"anyOf":[{"required":["b"]},{"required":["b","c"]}]}]}]}`,
			`{"type":"object","description":"Needs one of: b; b and c.","properties":{"a":{},"b":{},"c":{}},"required":["a","b"]}`},
		{"what can't stand in one schema", `{"type":"object","properties":{"a":{"type":"object","properties":{"x":{}}}},"allOf":[{"properties":{"a":{"additionalProperties":false}}}]}`,
			`{"type":"object","properties":{"a":{"allOf":[{"type":"object","properties":{"x":{}}},{"additionalProperties":false}]}}}`},
		{"pattern", `{"type":"object","properties":{"a":{"pattern":"^(?!x)"},"b":{"pattern":"^\\d+$"}}}`,
			`{"type":"object","properties":{"a":{"description":"Pattern: ^(?!x)"},"b":{"pattern":"^\\d+$"}}}`},
		{"wrong values", `{"type":"object","properties":{"a":{"type":"any","required":true,"enum":[],"minLength":-1,"description":7,"examples":"x","uniqueItems":1}}}`,
			`{"type":"object","properties":{"a":{}}}`},
		{"vendor keywords", `{"type":"object","properties":{"a":{"x-order":1,"nullable":true,"enumNames":["a"],"x-schema":{"$ref":"y"}}}}`,
			`{"type":"object","properties":{"a":{"x-order":1,"nullable":true,"enumNames":["a"]}}}`},
		{"numbers that overflow", `{"type":"object","properties":{"a":{"maximum":1e999,"minimum":1e10}}}`, `{"type":"object","properties":{"a":{"minimum":1e10}}}`},
		{"hidden characters", `{"type":"object","properties":{"a\nb\u202e":{}},"patternProperties":{"^\u202e":true}}`,
			`{"type":"object","properties":{"a_b_":{"description":"Original name: \"a\\nb\\u202e\""}}}`},
		{"hidden characters in a pattern", `{"type":"object","properties":{},"patternProperties":{"^\u202e":true}}`,
			`{"type":"object","properties":{},"patternProperties":{"^` + "\u202e" + `":{}}}`},
		{"unevaluated", `{"type":"object","properties":{},"unevaluatedProperties":false}`, `{"type":"object","properties":{}}`},
		{"patterns of names", `{"type":"object","properties":{"a":{}},"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{}},"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`},
		{"patterns of names, odd names", `{"type":"object","properties":{"a b":{}},"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`,
			`{"type":"object","properties":{"a_b":{"description":"Original name: a b"}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(repaired(t, c.in).Schema); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A5: whatever a server declares, the repair ends soon and the result is small.
func TestRepairIsBounded(t *testing.T) {
	bomb := `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`
	for i := range 60 {
		bomb += fmt.Sprintf(`"d%d":{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	bomb += `"d60":{"type":"string"}}}`
	var mesh strings.Builder
	for i := range 30 {
		fmt.Fprintf(&mesh, `"d%d":{"anyOf":[`, i)
		for j := range 30 {
			fmt.Fprintf(&mesh, `{"$ref":"#/$defs/d%d"},`, j)
		}
		mesh.WriteString(`{"type":"null"}]},`)
	}
	var names strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&names, `"n%d",`, i)
	}
	long := strings.Repeat("x", 200_000)
	for name, in := range map[string]string{
		"doubling":     bomb,
		"mesh":         `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + mesh.String() + `"z":{}}}`,
		"deep":         strings.Repeat(`{"not":`, 120) + `true` + strings.Repeat(`}`, 120),
		"too deep":     strings.Repeat(`{"not":`, 200) + `true` + strings.Repeat(`}`, 200),
		"deep refs":    `{"$defs":{"a":` + strings.Repeat(`{"not":`, 100) + `{"$ref":"#/$defs/a"}` + strings.Repeat(`}`, 100) + `},"$ref":"#/$defs/a"}`,
		"required":     `{"type":"object","required":[` + names.String() + `"z"]}`,
		"alternatives": `{"anyOf":[` + strings.Repeat(`{"properties":{"a":{"type":"string"},"b b":{"type":"string"}}},`, 5000) + `{"type":"null"}]}`,
		"long text":    `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/$defs/a"},"c":{"$ref":"#/$defs/a"}},"$defs":{"a":{"description":"` + long + `"}}}`,
		"long name":    `{"type":"object","properties":{"` + long + `":{}}}`,
		"large":        `{"type":"object","description":"` + strings.Repeat("x", MaxBytes) + `"}`,
		"grows":        `{"type":"object","properties":{"a":{"anyOf":[` + strings.Repeat(`{"type":"array"},`, 30_000) + `{}]}}}`,
	} {
		start := time.Now()
		r := Repair(json.RawMessage(in))
		d := time.Since(start)
		t.Logf("%-12s %8v %7d bytes %q", name, d.Round(time.Microsecond), len(r.Schema), r.Changes[0])
		if d > 20*time.Second || len(r.Schema) > MaxBytes {
			t.Errorf("%s: %v, %d bytes", name, d, len(r.Schema))
		}
		if again := Repair(r.Schema); len(again.Changes) > 0 {
			t.Errorf("%s: %q", name, again.Changes)
		}
	}
}

// J4: a repair reads nothing but its input.
func TestRepairFetchesNothing(t *testing.T) {
	var seen atomic.Int32
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }))
	defer canary.Close()
	for _, in := range []string{
		`{"type":"object","properties":{"a":{"$ref":"` + canary.URL + `/a#/x"}}}`,
		`{"$schema":"` + canary.URL + `/d","$id":"` + canary.URL + `/i","type":"object","properties":{"a":{"$ref":"other"}}}`,
		`{"$ref":"` + canary.URL + `"}`,
	} {
		if got := string(repaired(t, in).Schema); strings.Contains(got, canary.URL) {
			t.Error(got)
		}
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("%d requests reached the canary", n)
	}
}

func TestChangesAreTold(t *testing.T) {
	r := repaired(t, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a\u202e\n":{"type":"array"},"b":{"type":"array"}}}`)
	for _, want := range []string{"root: $schema is left out", `root: "a\u202e\n" is called`, "an array gets the items that it lacks (and in 1 more places)"} {
		if !strings.Contains(strings.Join(r.Changes, "|"), want) {
			t.Errorf("%q is not in %q", want, r.Changes)
		}
	}
}

// A caller that only wants to avoid a refusal can tell it from tidying.
func TestRefused(t *testing.T) {
	const tidy = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/x"},"b":{"oneOf":[{"type":"null"}]}},"definitions":{"x":{"type":"string"}}}`
	if r := repaired(t, tidy); r.Refused || len(r.Changes) == 0 {
		t.Errorf("%q", r.Changes)
	}
	for _, in := range []string{``, `{"type":"object"}`, `{"type":"object","properties":{"a b":{}}}`, `{"type":"object","properties":{},"anyOf":[{}]}`,
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"type":"object","properties":{"a":{"type":"array"}}}`, `{"type":"object","properties":{"a":{"exclusiveMinimum":true}}}`} {
		if r := repaired(t, in); !r.Refused {
			t.Errorf("%s: %q", in, r.Changes)
		}
	}
}

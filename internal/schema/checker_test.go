package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func check(t *testing.T, schema, args string) string {
	t.Helper()
	c, err := Compile(json.RawMessage(schema))
	if err != nil {
		t.Fatalf("%s: %v", clip(schema, 200), err)
	}
	if err = c.Check(json.RawMessage(args)); err == nil {
		return ""
	}
	var v *Violation
	if !errors.As(err, &v) {
		t.Fatalf("%T is no *Violation", err)
	}
	return v.Error()
}

const fileSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{
 "path":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":9007199254740993},
 "mode":{"enum":["text","hex"]},"tags":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}},
 "required":["path"],"additionalProperties":false}`

// D6: the message names the field and what it must be.
func TestMessages(t *testing.T) {
	for _, c := range []struct{ schema, args, want string }{
		{fileSchema, `{"path":"x"}`, ``},
		{fileSchema, `{"path":"x","limit":3.0}`, ``},
		{fileSchema, ``, `path: is required`},
		{fileSchema, `{}`, `path: is required`},
		{fileSchema, `[]`, `must be an object, is an array`},
		{fileSchema, `{"path":7}`, `path: must be a string, is a number`},
		{fileSchema, `{"path":null}`, `path: must be a string, is null`},
		{fileSchema, `{"path":""}`, `path: must have at least 1 character, has 0`},
		{fileSchema, `{"patth":"x"}`, `patth: is not known; did you mean "path"?`},
		{fileSchema, `{"Path":"x"}`, `Path: is not known; did you mean "path"?`},
		{fileSchema, `{"path":"x","zzz":1}`, `zzz: is not known; known are "limit", "mode", "path", "tags"`},
		{fileSchema, `{"path":"x","a\nb":1}`, `["a\nb"]: is not known; known are "limit", "mode", "path", "tags"`},
		{fileSchema, `{"path":"x","mode":"bin"}`, `mode: must be one of "text", "hex"`},
		{fileSchema, `{"path":"x","limit":0}`, `limit: must be at least 1`},
		{fileSchema, `{"path":"x","limit":9007199254740993}`, ``},
		{fileSchema, `{"path":"x","limit":9007199254740994}`, `limit: must be at most 9007199254740993`},
		{fileSchema, `{"path":"x","limit":1.5}`, `limit: must be an integer, is a number`},
		{fileSchema, `{"path":"x","limit":1e999999999}`, `limit: is a number that is too large or too precise`},
		{fileSchema, `{"path":"x","tags":[{"name":"a"},{"name":1}]}`, `tags[1].name: must be a string, is a number`},
		{fileSchema, `{"path":"x","tags":[{}]}`, `tags[0].name: is required`},
		{fileSchema, `{"path":1,"tags":[{}]}`, `tags[0].name: is required`},
		{fileSchema, `{"path":`, `the arguments are not valid JSON`},
		{fileSchema, `{} {}`, `the arguments are not valid JSON`},
		{`{"required":["path","mode"]}`, `{"pth":1}`, `path: is required; is "pth" meant to be it?`},
		{`{"required":["path","mode"]}`, `{}`, `path: is required; so is "mode"`},
		{`{"type":"object","additionalProperties":false}`, `{"a":1}`, `a: is not known`},
		{`{"properties":{"path":true},"unevaluatedProperties":false}`, `{"pat":1}`, `pat: is not known; did you mean "path"?`},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"array"}]}}}`, `{"a":1}`, `a: must be a string or an array, is a number`},
		{`{"properties":{"a":{"anyOf":[{"const":"x"},{"const":"y"}]}}}`, `{"a":1}`, `a: must be one of "x", "y"`},
		{`{"properties":{"a":{"anyOf":[{"type":"null"},{"type":"object","required":["b"]}]}}}`, `{"a":{}}`, `a.b: is required`},
		{`{"oneOf":[{"properties":{"k":{"const":"a"},"n":{"type":"number"}}},{"properties":{"k":{"const":"b"},"s":{"type":"string"}}}]}`,
			`{"k":"b","s":5}`, `s: must be a string, is a number`},
		{`{"oneOf":[true,true]}`, `{}`, `fits more than one of the alternatives`},
		{`{"properties":{"a":{"pattern":"^x+$"}}}`, `{"a":"y"}`, `a: must match the pattern ^x+$`},
		{`{"properties":{"a":{"multipleOf":0.25}}}`, `{"a":0.3}`, `a: must be a multiple of 0.25`},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,2,1.0]}`, `a: must not hold the same item twice: items 0 and 2 are equal`},
		{`{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, `abc: is not an allowed name`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `b: is required together with "a"`},
		{`{"not":{"required":["a"]}}`, `{"a":1}`, `is what the schema rules out`},
		{`false`, `{}`, `is not allowed here`},
	} {
		if got := check(t, c.schema, c.args); got != c.want {
			t.Errorf("%s\nargs %s\ngot  %q\nwant %q", c.schema, c.args, got, c.want)
		}
	}
}

// Two violations of the same weight must not be told in the order of a map.
func TestSameMessageEachTime(t *testing.T) {
	const schema = `{"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}},"additionalProperties":false}`
	for range 50 {
		if got := check(t, schema, `{"c":1,"b":1,"a":1,"x1":1,"x2":1}`); got != "a: must be a string, is a number" {
			t.Fatal(got)
		}
	}
}

func TestDrafts(t *testing.T) {
	for _, c := range []struct{ schema, bad string }{
		{`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"maximum":5,"exclusiveMaximum":true}}}`, `{"a":5}`},
		{`{"$schema":"http://json-schema.org/draft-06/schema#","properties":{"a":{"exclusiveMaximum":5}}}`, `{"a":5}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema","if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":5}`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","dependentRequired":{"a":["b"]}}`, `{"a":5}`},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"a":{"prefixItems":[{"type":"string"}]}}}`, `{"a":[1]}`},
		{`{"properties":{"a":{"prefixItems":[{"type":"string"}]}}}`, `{"a":[1]}`}, // the default is 2020-12
		{`{"$defs":{"x":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/x"}}}`, `{"a":1}`},
		{`{"$id":"http://example.com/t","$defs":{"x":{"$anchor":"x","type":"string"}},"properties":{"a":{"$ref":"#x"}}}`, `{"a":1}`},
	} {
		if got := check(t, c.schema, c.bad); got == "" {
			t.Errorf("%s accepts %s", c.schema, c.bad)
		}
		if got := check(t, c.schema, `{}`); got != "" {
			t.Errorf("%s refuses {}: %s", c.schema, got)
		}
	}
}

// Servers disagree about formats, and draft 7 would assert them.
func TestFormatIsAnAnnotation(t *testing.T) {
	for _, format := range []string{"uri", "date-time", "regex", "email"} {
		got := check(t, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"`+format+`"}}}`, `{"a":"((("}`)
		if got != "" {
			t.Errorf("%s: %s", format, got)
		}
	}
}

// D6: a schema that can't be compiled never blocks a call, and the reason holds no address.
func TestUncompilable(t *testing.T) {
	wide := `{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 10_000) + `true]}`
	for name, schema := range map[string]string{
		"nothing":          ``,
		"null":             `null`,
		"text":             `hello`,
		"array":            `[]`,
		"wrong type":       `{"type":"strnig"}`,
		"lookahead":        `{"properties":{"a":{"pattern":"^(?!x)"}}}`,
		"remote ref":       `{"$ref":"https://example.com/schema.json"}`,
		"file ref":         `{"$ref":"file:///etc/passwd"}`,
		"relative ref":     `{"$ref":"other.json#/x"}`,
		"missing ref":      `{"$ref":"#/$defs/none"}`,
		"unknown dialect":  `{"$schema":"https://example.com/dialect"}`,
		"self reference":   `{"$ref":"#"}`,
		"circle":           `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`,
		"dynamic":          `{"$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}}}`,
		"deep":             strings.Repeat(`{"not":`, 200) + `true` + strings.Repeat(`}`, 200),
		"duplicate key":    `{"type":"object","type":"string"}`,
		"10,000 branches":  wide,
		"large":            `{"description":"` + strings.Repeat("x", MaxBytes) + `"}`,
		"large number":     `{"minimum":1e999999999}`,
		"large repetition": `{"pattern":"(a{1000}){1000}"}`,
		"many repetitions": `{"pattern":"` + strings.Repeat("a{1000}", 1000) + `"}`,
		"long names":       `{"properties":{"` + strings.Repeat("x", 500_000) + `":{"anyOf":[` + strings.Repeat(`true,`, 1000) + `true]}}}`,
	} {
		start := time.Now()
		c, err := Compile(json.RawMessage(schema))
		if err == nil || c != nil {
			t.Errorf("%s: compiled", name)
			continue
		}
		if s := err.Error(); strings.Contains(s, "://") || strings.Contains(s, "\n") || len(s) > 300 {
			t.Errorf("%s: %q", name, s)
		}
		t.Logf("%-18s %8v %v", name, time.Since(start).Round(time.Microsecond), err)
		if err := Lazy(json.RawMessage(schema)).Check(json.RawMessage(`{"a":1}`)); err != nil {
			t.Errorf("%s: blocks a call: %v", name, err)
		}
	}
}

func TestRecursive(t *testing.T) {
	const tree = `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},
	 "children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["name"],"additionalProperties":false}}}`
	if got := check(t, tree, `{"name":"a","children":[{"name":"b","children":[{"name":"c"}]}]}`); got != "" {
		t.Error(got)
	}
	if got := check(t, tree, `{"name":"a","children":[{"name":"b","children":[{"name":7}]}]}`); got != "children[0].children[0].name: must be a string, is a number" {
		t.Error(got)
	}
	const value = `{"$defs":{"v":{"anyOf":[{"type":["string","number","boolean","null"]},{"type":"array","items":{"$ref":"#/$defs/v"}},
	 {"type":"object","additionalProperties":{"$ref":"#/$defs/v"}}]}},"$ref":"#/$defs/v"}`
	deep := strings.Repeat(`[{"a":`, 60) + `1` + strings.Repeat(`}]`, 60)
	if got := check(t, value, deep); got != "" {
		t.Error(got)
	}
}

// bomb doubles the work with each level: 2^n steps on the same value.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range levels {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"object"}}}`, levels)
	return b.String()
}

// A check has an end, whatever schema and arguments are; what can't be checked passes.
func TestBombs(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100)
	similar := `{"a":[` + strings.Repeat(`[[],[[]],[]],[[[]],[],[]],`, 20_000) + `1]}`
	for name, c := range map[string]struct{ schema, args string }{
		"references": {bomb(30), `{}`},
		"depth":      {`{"$defs":{"n":{"properties":{"a":{"allOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}}},"$ref":"#/$defs/n"}`, deep},
		"under not":  {`{"$defs":{"n":{"prefixItems":[false],"properties":{"a":{"not":{"anyOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}}}},"$ref":"#/$defs/n"}`, deep},
		"unique":     {`{"properties":{"a":{"uniqueItems":true}}}`, similar},
		"pattern":    {`{"properties":{"a":{"pattern":"(x?){900}y"}}}`, `{"a":"` + strings.Repeat("x", 8<<20) + `"}`},
		"wide":       {`{"additionalProperties":{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 2000) + `{"type":"null"}]}}`, `{` + strings.TrimSuffix(manyMembers(5000), ",") + `}`},
	} {
		start := time.Now()
		if got := check(t, c.schema, c.args); got != "" {
			t.Errorf("%s: %s", name, clip(got, 300))
		}
		d := time.Since(start)
		t.Logf("%-10s %v", name, d.Round(time.Millisecond))
		if d > time.Minute {
			t.Errorf("%s took %v", name, d)
		}
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":1,`, i)
	}
	return b.String()
}

// The largest schema that is accepted compiles and checks in bounded time.
func TestLargestSchema(t *testing.T) {
	start := time.Now()
	if got := check(t, `{"properties":{"a":{"anyOf":[`+strings.Repeat(`{"type":"string"},`, maxNodes-10)+`{"type":"null"}]}}}`, `{"a":1}`); got != "a: must be a string or null, is a number" &&
		got != "a: must be null or a string, is a number" {
		t.Error(got)
	}
	t.Log(time.Since(start))
}

func TestConcurrentUse(t *testing.T) {
	c := Lazy(json.RawMessage(fileSchema))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := c.Check(json.RawMessage(`{"path":1}`)); err == nil || err.Error() != "path: must be a string, is a number" {
					t.Errorf("got %v", err)
				}
				if err := c.Check(json.RawMessage(`{"path":"x"}`)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// A value of the arguments may be a secret; only the schema's values are shown.
func TestNoValueInMessages(t *testing.T) {
	for _, rule := range []string{`"const":"x"`, `"enum":["x"]`, `"pattern":"^x$"`, `"type":"number"`, `"maxLength":1`, `"not":true`, `"anyOf":[{"const":1},{"maxLength":2}]`} {
		if got := check(t, `{"properties":{"a":{`+rule+`}}}`, `{"a":"hunter2-secret"}`); got == "" || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %q", rule, got)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	c, err := Compile(json.RawMessage(fileSchema))
	if err != nil {
		b.Fatal(err)
	}
	args := json.RawMessage(`{"path":"/tmp/x","limit":20,"mode":"text"}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Check(args); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(json.RawMessage(fileSchema)); err != nil {
			b.Fatal(err)
		}
	}
}

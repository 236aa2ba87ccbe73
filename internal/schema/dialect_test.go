package schema

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const (
	draft4 = `"$schema":"http://json-schema.org/draft-04/schema#",`
	draft6 = `"$schema":"http://json-schema.org/draft-06/schema#",`
	draft7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	d2019  = `"$schema":"https://json-schema.org/draft/2019-09/schema",`
	d2020  = `"$schema":"https://json-schema.org/draft/2020-12/schema",`
)

// The same keywords mean different things, or nothing, in other drafts (protocol tolerance: draft 4 and 7 are seen).
func TestDialectDifferences(t *testing.T) {
	for name, c := range map[string]struct{ schema, good, bad string }{
		"exclusiveMinimum, boolean":   {draft4 + `"minimum":1,"exclusiveMinimum":true`, `2`, `1`},
		"minimum without exclusive":   {draft4 + `"minimum":1,"exclusiveMinimum":false`, `1`, `0`},
		"exclusiveMinimum, number 6":  {draft6 + `"exclusiveMinimum":1`, `2`, `1`},
		"exclusiveMinimum, number":    {`"exclusiveMinimum":1`, `2`, `1`},
		"integer in draft 4":          {draft4 + `"type":"integer"`, `1`, `1.5`},
		"const isn't known yet":       {draft4 + `"const":1,"type":"integer"`, `2`, `"x"`},
		"const":                       {draft6 + `"const":1`, `1`, `2`},
		"if isn't known yet":          {draft6 + `"if":true,"then":false,"type":"integer"`, `1`, `"x"`},
		"if":                          {draft7 + `"if":{"type":"integer"},"then":{"minimum":3}`, `"x"`, `1`},
		"definitions":                 {draft7 + `"$ref":"#/definitions/a","definitions":{"a":{"type":"null"}}`, `null`, `1`},
		"$defs":                       {d2019 + `"$ref":"#/$defs/a","$defs":{"a":{"type":"null"}}`, `null`, `1`},
		"what stands beside a $ref 7": {draft7 + `"$ref":"#/definitions/a","maximum":1,"definitions":{"a":{"type":"integer"}}`, `5`, `"x"`},
		"what stands beside a $ref":   {`"$ref":"#/$defs/a","maximum":5,"$defs":{"a":{"type":"integer"}}`, `5`, `6`},
		"id":                          {draft4 + `"id":"http://x.invalid/a","$ref":"#/definitions/a","definitions":{"a":{"type":"null"}}`, `null`, `1`},
		"items, array":                {draft7 + `"items":[{"type":"string"}],"additionalItems":false`, `["a"]`, `["a",1]`},
		"items, array 2019":           {d2019 + `"items":[{"type":"string"}],"additionalItems":{"type":"null"}`, `["a",null]`, `["a",1]`},
		"prefixItems":                 {d2020 + `"prefixItems":[{"type":"string"}],"items":false`, `["a"]`, `["a",1]`},
		"prefixItems, no $schema":     {`"prefixItems":[{"type":"string"}],"items":false`, `["a"]`, `[1]`},
		"prefixItems isn't known yet": {d2019 + `"prefixItems":[{"type":"string"}],"type":"array"`, `[1]`, `1`},
		"dependencies, names":         {draft7 + `"dependencies":{"a":["b"]}`, `{"a":1,"b":1}`, `{"a":1}`},
		"dependencies, schema":        {draft4 + `"dependencies":{"a":{"required":["b"]}}`, `{"b":1}`, `{"a":1}`},
		"dependentRequired":           {d2019 + `"dependentRequired":{"a":["b"]}`, `{"a":1,"b":1}`, `{"a":1}`},
		"dependentSchemas":            {d2020 + `"dependentSchemas":{"a":{"required":["b"]}}`, `{"b":1}`, `{"a":1}`},
		"contains":                    {draft6 + `"contains":{"const":1}`, `[2,1]`, `[2]`},
		"minContains":                 {d2019 + `"contains":{"const":1},"minContains":2`, `[1,1]`, `[1]`},
		"unevaluatedProperties":       {d2019 + `"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false`, `{"a":1}`, `{"b":1}`},
		"$anchor":                     {d2020 + `"$ref":"#x","$defs":{"a":{"$anchor":"x","type":"null"}}`, `null`, `1`},
		"no fragment in $schema":      {`"$schema":"http://json-schema.org/draft-07/schema","items":[false]`, `[]`, `[1]`},
		"https in $schema":            {`"$schema":"https://json-schema.org/draft-07/schema#","items":[false]`, `[]`, `[1]`},
	} {
		schema := `{` + c.schema + `}`
		if _, err := Compile(json.RawMessage(schema)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := checkResult(t, schema, `{"structuredContent":`+c.good+`}`); got != "" {
			t.Errorf("%s refuses %s: %s", name, c.good, got)
		}
		if got := checkResult(t, schema, `{"structuredContent":`+c.bad+`}`); got == "" {
			t.Errorf("%s accepts %s", name, c.bad)
		}
	}
}

// An unknown dialect leaves the call unchecked, and Err says so.
func TestUnknownDialect(t *testing.T) {
	for _, name := range []string{"https://example.com/dialect", "http://json-schema.org/draft-03/schema#", "https://json-schema.org/draft/next/schema",
		"http://json-schema.org/draft-07/schema#x", "draft-07", ""} {
		c := Lazy(json.RawMessage(`{"$schema":"` + name + `","type":"string"}`))
		if err := c.Err(); err == nil || !strings.Contains(err.Error(), "dialect that is not known") {
			t.Errorf("%q: %v", name, err)
		}
		if err := c.Check(json.RawMessage(`{}`)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if err := c.CheckResult(json.RawMessage(`{"structuredContent":7}`)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// J4: nothing that a schema names is fetched. The canary would see it.
func TestNothingIsFetched(t *testing.T) {
	var seen atomic.Int32
	canary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		seen.Add(1)
		_, _ = w.Write([]byte(`{"type":"null"}`))
	}))
	defer canary.Close()
	if resp, err := http.Get(canary.URL); err != nil || seen.Swap(0) != 1 {
		t.Fatal("the canary is deaf:", err)
	} else {
		_ = resp.Body.Close()
	}
	file := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(file, []byte(`{"type":"null"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{
		`{"$ref":"` + canary.URL + `/s.json"}`,
		`{"$ref":"` + canary.URL + `/s.json#/$defs/a"}`,
		`{"$schema":"` + canary.URL + `/dialect"}`,
		`{"$id":"` + canary.URL + `/root.json","$ref":"other.json"}`,
		`{"$id":"` + canary.URL + `/root.json","properties":{"a":{"$id":"sub/","items":{"$ref":"x.json"}}}}`,
		`{"$dynamicRef":"` + canary.URL + `/s.json#n"}`,
		`{"properties":{"a":{"$schema":"` + canary.URL + `/dialect","$id":"x","type":"string"}}}`,
		`{` + draft7 + `"definitions":{"a":{"$ref":"` + canary.URL + `/s.json"}},"$ref":"#/definitions/a"}`,
		`{` + draft4 + `"id":"` + canary.URL + `/","properties":{"a":{"$ref":"x"}}}`,
		`{"$ref":"file://` + file + `"}`,
		`{"$id":"file://` + file + `","$ref":"s.json#/x"}`,
		`{"$ref":"` + file + `"}`,
	} {
		c := Lazy(json.RawMessage(schema))
		if c.Err() == nil {
			t.Errorf("%s compiles", schema)
		}
		if err := c.Check(json.RawMessage(`{"a":[1]}`)); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
		if err := c.CheckResult(json.RawMessage(`{"structuredContent":{"a":[1]}}`)); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("%d requests reached the canary", n)
	}
}

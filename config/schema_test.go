package config

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// G1: the published schema is the one of this code.
func TestPublishedSchema(t *testing.T) {
	const path = "../docs/mcp.config.schema.json"
	if *update {
		if err := os.WriteFile(path, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, Schema()) {
		t.Errorf("%s is old: run go test ./config -run TestPublishedSchema -update (%v)", path, err)
	}
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// place is a text with a hole for one member of an object, and the form of the object.
type hole struct {
	form   reflect.Type
	path   string // of the object, in messages
	before string
	after  string
}

func holes() []hole {
	form := func(v any) reflect.Type { return reflect.TypeOf(v) }
	all := []hole{
		{form(fileForm{}), "", `{`, `}`},
		{form(permissionsForm{}), "permissions", `{"permissions": {`, `}}`},
		{form(ruleForm{}), "permissions.allow[0]", `{"permissions": {"allow": [{"rule": "r", `, `}]}}`},
		{form(grantForm{}), "permissions.grants[0]", `{"permissions": {"grants": [{"tool": "t", "definition": "` + hashA + `", `, `}]}}`},
		{form(riskForm{}), "permissions.risk.t", `{"permissions": {"risk": {"t": {"risk": "read", `, `}}}}`},
		{form(approvalsForm{}), "approvals", `{"approvals": {`, `}}`},
		{form(flowsForm{}), "flows", `{"flows": {`, `}}`},
		{form(logForm{}), "log", `{"log": {`, `}}`},
		{form(errorsForm{}), "errors", `{"errors": {`, `}}`},
		{form(tuneForm{}), "defaults", `{"defaults": {`, `}}`},
		{form(serverForm{}), "mcpServers.s", `{"mcpServers": {"s": {"x": 0, `, `}}}`},
		{form(tlsForm{}), "mcpServers.s.tls", `{"mcpServers": {"s": {"tls": {`, `}}}}`},
	}
	for name, f := range map[string]any{"restart": restartForm{}, "reconnect": reconnectForm{}, "retry": retryForm{}, "breaker": breakerForm{}, "pool": poolForm{}} {
		all = append(all, hole{form(f), "defaults." + name, `{"defaults": {"` + name + `": {`, `}}}`})
	}
	return all
}

// G1: the schema and the reader hold the same of each field with a value of each kind, and know the same fields.
func TestSchemaAndReader(t *testing.T) {
	schema := compiledSchema(t)
	values := []string{`"x"`, `""`, `1`, `-1`, `1.5`, `true`, `null`, `[]`, `{}`, `[1]`, `["x"]`, `[null]`, `[{}]`, `{"x": 1}`, `{"x": "y"}`, `{"x": []}`, `{"x": {}}`, `{"x": null}`}
	seen := 0
	for _, h := range holes() {
		for _, f := range reflect.VisibleFields(h.form) {
			name := f.Tag.Get("json")
			if name == "" || strings.Contains(h.before, `"`+name+`": "`) {
				continue
			}
			for _, v := range values {
				text := h.before + `"` + name + `": ` + v + h.after
				source := SourceManaged
				if name == "projects" {
					source = SourceUser
				}
				cfg, err := ParseFrom("f", []byte(text), From{Source: source})
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				checkAgreement(t, schema, text, member(h.path, name), cfg.Problems)
				seen++
			}
		}
	}
	if seen < 1500 {
		t.Errorf("only %d texts", seen)
	}
}

func checkAgreement(t *testing.T, schema *jsonschema.Schema, text, path string, problems []Problem) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(text, `"x": 0, `, "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	refused := schema.Validate(doc) != nil
	wrongKind, about := false, false
	for _, p := range problems {
		rest, here := strings.CutPrefix(p.Field, path)
		if !here || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		about = true
		if rest == "" && strings.Contains(p.Message, "unknown field") {
			t.Errorf("the reader doesn't know %s: %s", path, p.Message)
		}
		wrongKind = wrongKind || strings.HasPrefix(p.Message, "expected ")
	}
	if isPolicy(path) || strings.HasSuffix(path, ".idempotent") || path == "$schema" {
		return // read elsewhere, or more than a kind
	}
	if refused && !about {
		t.Errorf("only the schema refuses %s", text)
	}
	if wrongKind && !refused && !strings.Contains(text, `"x"`) && !strings.Contains(text, `: ""`) && !strings.Contains(text, `"y"`) {
		t.Errorf("only the reader refuses %s: %v", text, problems)
	}
}

// What the reader knows, the schema has.
func TestSchemaHasEachField(t *testing.T) {
	has := func(form any, names ...[]string) {
		properties := objectOf(reflect.TypeOf(form))["properties"].(object)
		for _, list := range names {
			for _, name := range list {
				if _, ok := properties[name]; !ok {
					t.Errorf("%T has no %s", form, name)
				}
			}
		}
	}
	has(fileForm{}, rootFields, policyNames)
	has(localForm{}, localRoot)
	has(serverForm{}, serverFields(), bearerFields, []string{"enabled", "timeout"})
	has(tuneForm{}, tuneFields)
	has(tlsForm{}, tlsFields)
	has(permissionsForm{}, permissionFields)
	has(ruleForm{}, ruleFields)
	has(riskForm{}, riskFields)
	has(grantForm{}, grantFields)
	has(flowsForm{}, flowFields)
	has(errorsForm{}, errorFields)
}

// What is right by the reader is right by the schema.
func TestSchemaTakesGoodFiles(t *testing.T) {
	schema := compiledSchema(t)
	for _, text := range []string{full, strings.ReplaceAll(fields, "HASH", hashA), `{}`, `{"allowedServers": [{"serverName": "x"}], "deniedMcpServers": [{"serverCommand": ["a"]}]}`} {
		d, err := parseDocument("c", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		v := d.root.Clone()
		v.Standardize()
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(v.Pack()))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if !slices.Contains(strings.Fields(string(Schema())), `"mcpServers":`) {
		t.Error("no servers")
	}
}

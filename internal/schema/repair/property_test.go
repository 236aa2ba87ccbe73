package repair

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/schema"
	"github.com/usher-mcp/usher/mcp"
)

// maker writes schemas and arguments from a small alphabet, so that they often fit.
type maker struct {
	*rand.Rand
	depth int
}

var (
	alphabet = []string{"a", "b", "a b", "ids[]", "名", "type", "properties", "$ref"}
	defs     = []string{"x", "y", "z"}
)

func (m *maker) pick(list ...string) string { return list[m.IntN(len(list))] }
func (m *maker) name() string               { return string(mcp.Quote(m.pick(alphabet...))) }

func (m *maker) many(most int, one func() string) string {
	var list []string
	for range m.IntN(most + 1) {
		list = append(list, one())
	}
	return strings.Join(list, ",")
}

// object joins members, each name once.
func (m *maker) object(most int, one func() (name, value string)) string {
	var list, seen []string
	for range m.IntN(most + 1) {
		name, value := one()
		if !slices.Contains(seen, name) {
			seen = append(seen, name)
			list = append(list, name+":"+value)
		}
	}
	return "{" + strings.Join(list, ",") + "}"
}

func (m *maker) schema() string {
	m.depth++
	defer func() { m.depth-- }()
	if m.depth > 4 {
		return m.pick(`{}`, `true`, `{"type":"string"}`, `{"type":"object"}`, `{"const":1}`, `{"type":["null","object"]}`)
	}
	if m.IntN(12) == 0 {
		return m.pick(`true`, `false`)
	}
	return m.object(4, func() (string, string) { return m.keyword() })
}

func (m *maker) keyword() (string, string) {
	list := func() string { return "[" + m.schema() + strings.TrimSuffix(","+m.many(2, m.schema), ",") + "]" }
	names := func() string {
		return `["` + m.pick("a", "b") + `",` + string(mcp.Quote(m.pick("a b", "ids[]", "名", "type"))) + `]`
	}
	switch key := m.pick("type", "type", "properties", "properties", "properties", "required", "additionalProperties", "anyOf", "oneOf", "allOf", "not", "if",
		"then", "else", "items", "prefixItems", "contains", "maxContains", "$ref", "enum", "const", "patternProperties", "propertyNames", "dependentRequired",
		"dependentSchemas", "minProperties", "maxLength", "pattern", "description", "unevaluatedProperties", "x-vendor", "minimum", "uniqueItems"); key {
	case "type":
		return `"type"`, m.pick(`"string"`, `"object"`, `"object"`, `"array"`, `["object","array"]`, `["string","null"]`, `"integer"`)
	case "properties", "patternProperties", "dependentSchemas":
		return `"` + key + `"`, m.object(3, func() (string, string) {
			if key == "patternProperties" {
				return m.pick(`"^a"`, `"b$"`, `"(?i)x"`), m.schema()
			}
			return m.name(), m.schema()
		})
	case "required":
		return `"required"`, m.pick(`[`+m.name()+`]`, names())
	case "dependentRequired":
		return `"dependentRequired"`, `{` + m.name() + `:` + names() + `}`
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return `"` + key + `"`, list()
	case "$ref":
		return `"$ref"`, m.pick(`"#/$defs/x"`, `"#/$defs/y"`, `"#/$defs/z"`, `"#"`)
	case "enum":
		return `"enum"`, m.pick(`[1,"s"]`, `[null,{}]`, `["s"]`)
	case "const":
		return `"const"`, m.pick(`1`, `"s"`, `{}`)
	case "maxContains", "minProperties", "maxLength", "minimum":
		return `"` + key + `"`, m.pick("0", "1", "2")
	case "pattern":
		return `"pattern"`, m.pick(`"^s"`, `"(?i)^S"`)
	case "description", "x-vendor":
		return `"` + key + `"`, `"d"`
	case "propertyNames":
		return `"propertyNames"`, m.pick(`{"enum":["a","b","a b","ids[]","名"]}`, `{"maxLength":3}`, `{"pattern":"^[ab]"}`)
	case "uniqueItems":
		return `"uniqueItems"`, `true`
	default:
		return `"` + key + `"`, m.schema()
	}
}

func (m *maker) root() string {
	s := m.schema()
	if s[0] != '{' || m.IntN(2) == 0 {
		s = `{"properties":` + m.object(3, func() (string, string) { return m.name(), m.schema() }) + `}`
	}
	d := `{`
	for i, name := range defs {
		if i > 0 {
			d += ","
		}
		d += `"` + name + `":` + m.schema()
	}
	return string(mcp.SetMember(json.RawMessage(s), "$defs", json.RawMessage(d+"}")))
}

func (m *maker) value() string {
	m.depth++
	defer func() { m.depth-- }()
	if m.depth > 3 || m.IntN(3) == 0 {
		return m.pick(`1`, `"s"`, `null`, `{}`, `[]`, `1.0`, `true`)
	}
	if m.IntN(3) == 0 {
		return `[` + m.many(2, m.value) + `]`
	}
	return m.args()
}

func (m *maker) args() string {
	return m.object(4, func() (string, string) { return m.name(), m.value() })
}

// Any schema becomes one that the APIs take, the same each time, and the arguments that fit the original fit it.
func TestRepairKeepsWhatIsValid(t *testing.T) {
	const schemas, each = 500, 12
	compared, accepted := 0, 0
	for seed := range uint64(schemas) {
		m := &maker{Rand: rand.New(rand.NewPCG(seed, 1))}
		in := m.root()
		if !json.Valid([]byte(in)) {
			t.Fatalf("the maker wrote %s", in)
		}
		r := repaired(t, in)
		original, err := schema.Compile(json.RawMessage(in))
		if err != nil {
			continue // nothing is valid
		}
		forModel, err := schema.Compile(r.Schema)
		if err != nil {
			t.Fatal(err)
		}
		for range each {
			args := json.RawMessage(m.args())
			if compared++; original.Check(args) != nil {
				continue
			}
			accepted++
			if err := fitsToo(r, original, forModel, in, args); err != nil {
				t.Fatalf("seed %d: %s\nbecomes %s\narguments %s: %v", seed, in, r.Schema, args, err)
			}
		}
	}
	t.Logf("%d of %d arguments fit their schema", accepted, compared)
	if accepted < compared/10 {
		t.Errorf("only %d of %d arguments fit: the test says little", accepted, compared)
	}
}

// fitsToo reports why arguments that fit the original don't fit the repaired schema, or don't come back.
func fitsToo(r *Repaired, original, forModel *schema.Checker, in string, args json.RawMessage) error {
	given, err := forth(r, args)
	if err != nil {
		return err
	}
	if back, err := r.Arguments(given); err != nil || string(back) != string(args) {
		return fmt.Errorf("%s comes back as %s, %v", given, back, err)
	}
	wrong := forModel.Check(given)
	if wrong == nil || !exempt(in) {
		return wrong
	}
	// What only some alternatives declare may be narrower: without it the arguments must fit, if they still fit the original.
	var less json.RawMessage = args
	for _, name := range alphabet {
		if mcp.Path(json.RawMessage(in), "properties", name) == nil {
			less = mcp.SetMember(less, name, nil)
		}
	}
	if original.Check(less) != nil {
		return nil
	}
	if given, err = forth(r, less); err != nil {
		return err
	}
	if err := forModel.Check(given); err != nil {
		return fmt.Errorf("%w; and of %s: %w", wrong, less, err)
	}
	return nil
}

// exempt reports whether the root may have alternatives.
func exempt(in string) bool {
	for key := range mcp.Members([]byte(in)) {
		switch mcp.Text(key) {
		case "anyOf", "oneOf", "allOf", "$ref":
			return true
		}
	}
	return false
}

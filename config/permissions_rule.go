package config

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

var ruleFields = []string{"rule", "when", "entry"}

// maxCondition is the size of a condition in bytes: more than anybody reads.
const maxCondition = 8 << 10

func (r *reader) rules(f field) []Rule {
	elements, _ := r.elements(f)
	var out []Rule
	for _, e := range elements {
		if rule, ok := r.rule(e); ok {
			out = append(out, rule)
		}
	}
	return out
}

// rule reads a string, or an object for a rule with a condition or for one entry. Any mistake costs the rule, since one
// without its condition would be another rule. F3
func (r *reader) rule(f field) (rule Rule, ok bool) {
	rule.File, rule.Source = r.doc.name, r.from.Source
	rule.Line, _ = r.doc.place(f.key)
	switch f.value.Value.Kind() {
	case '"':
		rule.Pattern, ok = r.pattern(f)
		return rule, ok
	case '{':
		return rule, r.ruleObject(f, &rule)
	}
	r.bad(f, `expected a rule; write "mcp.fs.*" or {"rule": "mcp.fs.*", "when": "…"}`)
	return rule, false
}

func (r *reader) ruleObject(f field, rule *Rule) (ok bool) {
	ok = true
	members, _ := r.members(f, "")
	for _, m := range members {
		valid := false
		switch m.name {
		case "rule":
			rule.Pattern, valid = r.pattern(m)
		case "when":
			rule.When, valid = r.condition(m)
		case "entry":
			rule.Entry, valid = r.hash(m)
		default:
			r.report(m.key, m.path, unknownOfRule(m.name))
		}
		ok = ok && valid
	}
	if ok && rule.Pattern == "" {
		r.report(f.key, f.path, `the rule is missing; write {"rule": "mcp.fs.*", …}`)
		return false
	}
	return ok
}

// unknownOfRule is like unknown, but the field isn't just ignored.
func unknownOfRule(name string) string {
	switch name {
	case "pattern", "tool", "match":
		return instead("rule")
	case "if", "condition":
		return instead("when")
	}
	s := unknown(name, ruleFields)
	return strings.Replace(strings.Replace(s, "It is ignored", "The rule is left out", 1), "unknown field, ignored", "unknown field, and the rule is left out", 1)
}

func (r *reader) pattern(f field) (string, bool) {
	s, ok := r.text(f)
	if !ok {
		return "", false
	}
	if why := badPattern(s); why != "" {
		r.bad(f, why)
		return "", false
	}
	return s, true
}

// condition may have several lines.
func (r *reader) condition(f field) (string, bool) {
	s, ok := r.text(f)
	if !ok {
		return "", false
	}
	if why := badCondition(s); why != "" {
		r.bad(f, why)
		return "", false
	}
	return s, true
}

func badCondition(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return `an empty condition says nothing; write one such as "session != ''", or remove it`
	case len(s) > maxCondition:
		return "a condition is at most 8192 bytes; make several rules of it"
	case strings.ContainsFunc(s, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' && c != '\r' }):
		return "a condition has no control characters; remove them"
	}
	return ""
}

var hashForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

const badHash = `expected a hash, "sha256:" and 64 digits; usher allow writes it`

func (r *reader) hash(f field) (string, bool) {
	if s := textOf(f.value); f.value.Value.Kind() == '"' && hashForm.MatchString(s) {
		return s, true
	}
	r.bad(f, badHash)
	return "", false
}

var grantFields = []string{"tool", "entry", "definition", "package"}

// grants reads what was answered with always. F4
func (r *reader) grants(f field) []Grant {
	array, ok := f.value.Value.(*hujson.Array)
	if !ok {
		r.bad(f, `expected a list of grants; usher allow writes them`)
		return nil
	}
	var out []Grant
	for i, v := range array.Elements {
		if g, ok := r.grant(field{"", element(f.path, i), v.StartOffset, v}); ok {
			out = append(out, g)
		}
	}
	return out
}

func (r *reader) grant(f field) (g Grant, ok bool) {
	members, ok := r.members(f, `{"tool": "…", "entry": "sha256:…", "definition": "sha256:…"}`)
	for _, m := range members {
		valid := true
		switch m.name {
		case "tool":
			g.Tool, valid = r.oneTool(m)
		case "entry":
			g.Entry, valid = r.hash(m)
		case "definition":
			g.Definition, valid = r.hash(m)
		case "package":
			g.Package, valid = r.shortText(m)
		default:
			r.report(m.key, m.path, unknown(m.name, grantFields))
		}
		ok = ok && valid
	}
	if why := incompleteGrant(g); ok && why != "" {
		r.report(f.key, f.path, why)
		return g, false
	}
	g.File, g.Source = r.doc.name, r.from.Source
	g.Line, _ = r.doc.place(f.key)
	return g, ok
}

// incompleteGrant says what a grant lacks, or "". Only a built-in tool has no entry.
func incompleteGrant(g Grant) string {
	switch {
	case g.Tool == "":
		return `names no tool; write {"tool": "mcp.fs.write_file", …}`
	case g.Definition == "":
		return `has no "definition", the hash of the tool that was allowed; usher allow writes it`
	case g.Entry == "" && strings.HasPrefix(g.Tool, "mcp"):
		return `has no "entry", the hash of the server's entry that was allowed; usher allow writes it`
	}
	return ""
}

func (r *reader) oneTool(f field) (string, bool) {
	s, ok := r.pattern(f)
	if ok && badTool(s) != "" {
		r.bad(f, badTool(s))
		return "", false
	}
	return s, ok
}

// badTool says why a name is not that of one tool, or "".
func badTool(s string) string {
	if why := badPattern(s); why != "" {
		return why
	}
	if strings.ContainsRune(s, '*') {
		return `a grant is for one tool; put a pattern into "allow"`
	}
	return ""
}

func (r *reader) shortText(f field) (string, bool) {
	s, ok := r.text(f)
	if ok && badShort(s) {
		r.bad(f, "expected short text without control characters, such as \"npm:name@1.2.3\"")
		return "", false
	}
	return s, ok
}

func badShort(s string) bool {
	return len(s) > maxPattern || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl)
}

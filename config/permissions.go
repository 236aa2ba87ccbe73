package config

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

var (
	permissionFields = []string{"deny", "ask", "allow", "risk"}
	ruleLists        = permissionFields[:3]
	riskFields       = []string{"risk", "hash"}
	risks            = []string{"read", "write", "network", "execute", "destructive"}
)

const maxPattern = 1024

// readPermissions marks the permissions incomplete with every Problem in them.
func (r *reader) readPermissions(f field) {
	before := len(r.cfg.Problems)
	members, _ := r.members(f, `{"allow": ["…"]}`)
	p := &r.cfg.Permissions
	for _, f := range members {
		switch f.name {
		case "deny":
			p.Deny = r.rules(f)
		case "ask":
			p.Ask = r.rules(f)
		case "allow":
			p.Allow = r.rules(f)
		case "risk":
			p.Risk = r.riskLabels(f)
		default:
			r.report(f.key, f.path, unknown(f.name, permissionFields))
		}
	}
	p.Incomplete = len(r.cfg.Problems) > before
}

func (r *reader) rules(f field) []Rule {
	elements, _ := r.elements(f)
	var out []Rule
	for _, e := range elements {
		s, ok := r.text(e)
		if !ok {
			continue
		}
		if why := badPattern(s); why != "" {
			r.bad(e, why)
			continue
		}
		line, _ := r.doc.place(e.key)
		out = append(out, Rule{Pattern: s, File: r.doc.name, Line: line, Source: SourceUser})
	}
	return out
}

// badPattern says what keeps a rule from being stored at all, or "".
func badPattern(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return `an empty rule matches nothing; write one such as "mcp.fs.*" or remove it`
	case len(s) > maxPattern:
		return "a rule is at most 1024 bytes; use a wildcard"
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return "a rule has no control characters; remove them"
	}
	return ""
}

func (r *reader) riskLabels(f field) map[string]RiskLabel {
	const example = `{"mcp.fs.write_file": "write"}`
	members, _ := r.members(f, example)
	out := make(map[string]RiskLabel)
	for _, f := range members {
		if label, ok := r.riskLabel(f); ok {
			label.Line, _ = r.doc.place(f.key)
			out[f.name] = label
		}
	}
	return out
}

func (r *reader) riskLabel(f field) (label RiskLabel, ok bool) {
	if f.value.Value.Kind() == '"' {
		label.Risk, ok = r.risk(f)
		return label, ok
	}
	if _, isObject := f.value.Value.(*hujson.Object); !isObject {
		r.bad(f, `expected a label; write "read" or {"risk": "read", "hash": "…"}`)
		return label, false
	}
	members, _ := r.members(f, "")
	valid := true
	for _, m := range members {
		ok := true
		switch m.name {
		case "risk":
			label.Risk, ok = r.risk(m)
		case "hash":
			label.Hash, ok = r.text(m)
		default:
			r.report(m.key, m.path, unknown(m.name, riskFields))
		}
		valid = valid && ok
	}
	if valid && label.Risk == "" {
		r.report(f.key, f.path, `the label is missing; write {"risk": "read"}`)
		return label, false
	}
	return label, valid
}

func (r *reader) risk(f field) (string, bool) {
	s, ok := r.text(f)
	if ok && !slices.Contains(risks, s) {
		r.bad(f, "expected one of "+strings.Join(risks, ", "))
		return "", false
	}
	return s, ok
}

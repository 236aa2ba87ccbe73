package config

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

var (
	permissionFields = []string{"deny", "ask", "allow", "risk", "mode", "modes", "grants"}
	ruleLists        = permissionFields[:3]
	riskFields       = []string{"risk", "hash"}
	risks            = []string{"read", "write", "network", "execute", "destructive"}
	modes            = []string{ModeDefault, ModeAcceptReads, ModePlan, ModeDontAsk, ModeBypass}
)

const maxPattern = 1024

// readPermissions marks the permissions incomplete with every Problem in them, but for those by which nothing is lost that
// would forbid.
func (r *reader) readPermissions(f field) {
	before, harmless := len(r.cfg.Problems), r.harmless
	members, _ := r.members(f, `{"allow": ["…"]}`)
	for _, f := range r.permittedPermissions(members) {
		r.readPermission(f)
	}
	if len(r.cfg.Problems)-before > r.harmless-harmless {
		r.cfg.Permissions.Incomplete = true
	}
}

func (r *reader) readPermission(f field) {
	p := &r.cfg.Permissions
	switch f.name {
	case "deny":
		p.Deny = r.rules(f)
	case "ask":
		p.Ask = r.rules(f)
	case "allow":
		p.Allow = r.rules(f)
	case "risk":
		p.Risk = r.riskLabels(f)
	case "mode":
		if s, ok := r.mode(f); ok {
			p.Mode, r.cfg.file.said["permissions.mode"] = s, true
		}
	case "modes":
		p.Modes = r.modes(f)
	case "grants":
		before := len(r.cfg.Problems)
		p.Grants = r.grants(f)
		r.harmless += len(r.cfg.Problems) - before
	default:
		r.report(f.key, f.path, unknownPermission(f.name))
	}
}

func unknownPermission(name string) string {
	switch name {
	case "defaultMode", "default_mode":
		return instead("mode")
	case "disableBypassPermissionsMode":
		return `not read here; write "modes": ["default", …] into the administrator's file`
	}
	return unknown(name, permissionFields)
}

func (r *reader) mode(f field) (string, bool) {
	s := textOf(f.value)
	if f.value.Value.Kind() == '"' && slices.Contains(modes, s) {
		return s, true
	}
	why := `expected "` + strings.Join(modes[:len(modes)-1], `", "`) + `" or "` + modes[len(modes)-1] + `"`
	if near := nearest(s, modes); f.value.Value.Kind() == '"' && near != "" {
		why = `unknown mode, did you mean "` + near + `"?`
	}
	r.bad(f, why)
	return "", false
}

// modes never is nil: what can't be read must not open all of them.
func (r *reader) modes(f field) []string {
	all := []string{}
	elements, _ := r.elements(f)
	for _, e := range elements {
		if s, ok := r.mode(e); ok && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return []string{ModeDefault}
	}
	return all
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

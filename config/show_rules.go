package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

func (s *shower) rules() []ShownRule {
	out := []ShownRule{}
	for _, l := range []struct {
		list  string
		rules []Rule
	}{{"deny", s.Permissions.Deny}, {"ask", s.Permissions.Ask}, {"allow", s.Permissions.Allow}} {
		for _, r := range l.rules {
			out = append(out, ShownRule{l.list, r.Pattern, r.When, r.Source, r.File, r.Line})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Permissions.Risk)) {
		label := s.Permissions.Risk[name]
		source, file := s.labelled(name, label.Line)
		out = append(out, ShownRule{"risk", name + ": " + label.Risk, "", source, file, label.Line})
	}
	for _, g := range s.Permissions.Grants {
		out = append(out, ShownRule{"grant", g.Tool, "", g.Source, g.File, g.Line})
	}
	for _, f := range s.Flows.Labels {
		out = append(out, ShownRule{"flow", f.Pattern + ": " + cmp.Or(strings.Join(f.Labels, ", "), "none"), "", f.Source, f.File, f.Line})
	}
	for _, l := range []struct {
		list    string
		entries []policyEntry
	}{{"allowedServers", s.gate.allowed}, {"deniedServers", s.gate.denied}, {"trustedServers", s.gate.advance}} {
		for _, e := range l.entries {
			out = append(out, ShownRule{l.list, s.hide(e.String()), "", e.source, e.place.File, e.place.Line})
		}
	}
	return out
}

// labelled finds the source of a label of risk.
func (s *shower) labelled(name string, line int) (source, file string) {
	for _, p := range s.gate.layers {
		if l, ok := p.cfg.Permissions.Risk[name]; ok && l.Line == line && p.source != SourceProject {
			return p.source, p.name
		}
	}
	return "", ""
}

// String is the entry as a person would write it.
func (e *policyEntry) String() string {
	value := e.name
	switch e.kind {
	case byCommand:
		var words []string
		for _, a := range e.argv {
			if a.any {
				a.text = "*"
			}
			words = append(words, a.text)
		}
		value = strings.Join(words, " ")
	case byURL:
		value = e.url.text
	}
	if e.off {
		value += " (not usable as it is)"
	}
	return e.kind + ": " + value
}

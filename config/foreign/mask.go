package foreign

import (
	"strings"
)

// The methods of context that take secrets out of values.

// project is the folder of the entry, or "".
func (c *context) project() string { return c.draft.e.Project }

// name is what a secret of this place is called in the keyring.
func (c *context) name() string { return ownSecret(c.draft.e.Name) + clean(c.leaf) }

// ownSecret is what the names of a server's secrets begin with.
func ownSecret(server string) string { return clean(strings.ReplaceAll(server, "/", "_")) + "/" }

// kept remembers a secret and returns the reference to it.
func (c *context) kept(name, hint, value string) part {
	return part{ref: "${keyring:" + c.draft.keep(name, hint, value, c.at) + "}"}
}

func (c *context) masked(parts []part) (all []part) {
	references := false
	for _, p := range parts {
		references = references || p.ref != ""
	}
	for _, p := range parts {
		switch {
		case p.ref != "":
			all = append(all, p)
		case c.secret && !references && !harmless(p.lit):
			all = append(all, c.whole(p.lit)...)
		default:
			all = append(all, c.spans(p.lit)...)
		}
	}
	return all
}

// whole takes all of a value but the scheme before a credential.
func (c *context) whole(s string) []part {
	scheme, rest, found := strings.Cut(s, " ")
	if found && !strings.ContainsAny(scheme, ":=;,") && strings.TrimSpace(rest) != "" && len(scheme) < 16 {
		return []part{{lit: scheme + " "}, c.kept(c.name(), "", strings.TrimSpace(rest))}
	}
	return []part{c.kept(c.name(), "", s)}
}

func (c *context) spans(s string) (all []part) {
	last := 0
	for _, sp := range secretSpans(s) {
		all = append(all, part{lit: s[last:sp.from]}, c.kept(c.name(), "", s[sp.from:sp.to]))
		last = sp.to
	}
	return append(all, part{lit: s[last:]})
}

// argument masks one argument of a command: behind a flag that names a secret, or NAME=VALUE with such a name.
func (d *draft) argument(s, before, leaf string, at Where, values dialect) string {
	if secretFlag.MatchString(before) && secretName(before) && !strings.HasPrefix(s, "-") {
		return d.say(s, leaf, at, true, values)
	}
	m := pair.FindStringSubmatchIndex(s)
	if m == nil || !secretName(s[m[4]:m[5]]) || strings.HasPrefix(s[m[6]:], "//") {
		return d.say(s, leaf, at, false, values)
	}
	head := s[:m[6]]
	tail := d.say(s[m[6]:], leaf, at, true, values)
	d.plain[leaf] = head + d.plain[leaf]
	return strings.ReplaceAll(head, "${", "$${") + tail
}

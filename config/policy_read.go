package config

import (
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

func itoa(n int) string { return strconv.Itoa(n) }

// policyFields are the spellings of each field of the policy. Read only.
var policyFields = map[string]string{
	"allowedServers": "allowed", "allowedMcpServers": "allowed", "deniedServers": "denied", "deniedMcpServers": "denied",
	"allowManagedServersOnly": "only", "allowManagedMcpServersOnly": "only", "trustedServers": "trusted",
}

// policyReader reads the policy of one file. It has an environment of its own: that of the administrator's entries.
type policyReader struct {
	*reader
	source string
	policy
	only      bool  // the administrator's allow list is the only one
	exclusive Place // of its list of servers
	trusted   []policyEntry
}

func readPolicy(doc *document, source string, env func(string) (string, bool)) *policyReader {
	r := &policyReader{reader: newReader(doc, From{Env: env, Source: source}), source: source}
	for _, f := range fieldsOf(doc.object, "") {
		if isServersKey(f.name) && source == SourceManaged {
			r.exclusive = r.at(f)
		}
		switch policyFields[f.name] {
		case "allowed":
			r.allowedAt = r.at(f)
			r.allowed = append(r.allowed, r.list(f, false)...)
		case "denied":
			if f.value.Value.Kind() != '[' {
				at := r.at(f)
				r.unclearDeny = &at
			}
			r.denied = append(r.denied, r.list(f, true)...)
		case "only":
			r.only = r.mineOnly(f, true) || r.only // it has two spellings
		case "trusted":
			if r.mineOnly(f, false) {
				r.trusted = r.list(f, false)
			}
		}
	}
	return r
}

func (r *policyReader) at(f field) Place {
	line, _ := r.doc.place(f.key)
	return Place{r.doc.name, line}
}

// mineOnly reads a field that only the administrator's file has. What can't be read as false is true.
func (r *policyReader) mineOnly(f field, flag bool) bool {
	if r.source != SourceManaged {
		r.report(f.key, f.path, "ignored: only the administrator's file can say this")
		return false
	}
	if !flag {
		return true
	}
	v, ok := r.flag(f)
	return v || !ok
}

func (r *policyReader) list(f field, deny bool) (all []policyEntry) {
	array, ok := f.value.Value.(*hujson.Array)
	if !ok {
		r.bad(f, `expected a list; write [{"serverName": "…"}]`)
		return nil
	}
	for i, v := range array.Elements {
		all = append(all, r.entry(field{"", element(f.path, i), v.StartOffset, v}, deny)...)
	}
	return all
}

// entry reads an element, which has exactly one field. One that is wrong is dropped from a list that allows; of one in a
// list that denies, all that can be understood counts.
func (r *policyReader) entry(f field, deny bool) (all []policyEntry) {
	members, ok := r.members(f, `{"serverName": "…"}, {"serverCommand": ["…"]} or {"serverUrl": "https://…"}`)
	if !ok {
		return nil
	}
	if len(members) != 1 {
		r.bad(f, "an entry has exactly one of serverName, serverCommand and serverUrl"+r.consequence(deny))
	}
	for _, m := range members {
		e := policyEntry{kind: m.name, place: r.at(f), source: r.source, off: len(members) != 1}
		var why string
		switch m.name {
		case byName:
			e.name, why = r.nameOf(m, deny)
		case byCommand:
			e.argv, why = r.commandOf(m, deny)
		case byURL:
			e.url, why = r.patternOf(m, deny)
		default:
			r.report(m.key, m.path, unknown(m.name, []string{byName, byCommand, byURL}))
			continue
		}
		if why != "" {
			r.bad(m, why+r.consequence(deny))
			e.off = true
		}
		all = append(all, e)
	}
	return all
}

func (r *policyReader) consequence(deny bool) string {
	if deny {
		return "; what can be understood of it is denied"
	}
	return "; it allows nothing"
}

func (r *policyReader) nameOf(f field, deny bool) (name, why string) {
	if f.value.Value.Kind() != '"' {
		return "", "expected the name of a server"
	}
	name = textOf(f.value)
	switch {
	case name == "":
		return "", "the name is empty"
	case !deny && strings.ContainsFunc(name, func(c rune) bool { return c > 0x7f || !isWord(byte(c)) && c != '-' }):
		return "", "a name has only letters, digits, _ and - here; for other servers use serverCommand or serverUrl"
	}
	return name, ""
}

func (r *policyReader) commandOf(f field, deny bool) (argv []argument, why string) {
	array, ok := f.value.Value.(*hujson.Array)
	if !ok || len(array.Elements) == 0 {
		why = `expected the program and all of its arguments; write ["npx", "-y", "…"]`
		if f.value.Value.Kind() == '"' {
			for _, word := range strings.Fields(textOf(f.value)) {
				argv = append(argv, argument{text: word})
			}
		}
		return argv, why
	}
	for _, v := range array.Elements {
		if v.Value.Kind() != '"' {
			argv, why = append(argv, argument{any: true}), "expected strings"
			continue
		}
		x := expand(textOf(v), r.env)
		if len(x.missing) > 0 {
			why = "the variable " + x.missing[0] + " is not set"
		}
		argv = append(argv, argument{x.text, len(x.missing) > 0})
	}
	return argv, why
}

// patternOf takes a variable that isn't set for anything, in a list that denies.
func (r *policyReader) patternOf(f field, deny bool) (p urlPattern, why string) {
	if f.value.Value.Kind() != '"' || textOf(f.value) == "" {
		return p, `expected an address; write "https://host/*"`
	}
	raw := textOf(f.value)
	x := expand(raw, r.env)
	if len(x.missing) > 0 {
		p, _ = parsePattern(expand(raw, r.orAnything).text)
		return p, "the variable " + x.missing[0] + " is not set"
	}
	p, why = parsePattern(x.text)
	if why == "" && x.text != raw && !deny && changesAddress(raw, x.text) {
		why = "a variable decides where it leads; write scheme, host and path out"
	}
	return p, why
}

func (r *policyReader) orAnything(name string) (string, bool) {
	if v, ok := r.env(name); ok {
		return v, true
	}
	return "*", true
}

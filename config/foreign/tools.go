package foreign

import (
	"strconv"
	"strings"
	"unicode"
)

// tool adds a rule on one tool of the entry, by the name that the server gives it.
func (d *draft) tool(list, tool string, line int, field string) {
	at := d.where(line, join(d.e.Where.Field, field))
	if !plainTool(tool) {
		d.lose(at, "not the name of a tool; the rule isn't taken over")
		return
	}
	d.rule(list, d.e.Name, tool, "", "", at)
}

func plainTool(s string) bool {
	return s != "" && len(s) <= 128 && !strings.ContainsAny(s, "*?()") && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) })
}

// toolList reads a field that lists tools; star says that * there means all.
func (d *draft) toolList(list, field string, star bool) {
	_, n := d.take(field)
	if n == nil {
		return
	}
	for _, tool := range n.texts() {
		if tool == "*" && star {
			d.rule(list, d.e.Name, "*", "", "", d.at(n, field))
			continue
		}
		d.tool(list, tool, n.line, field)
	}
}

// onlyTools reads a field that lists the only tools there are: the others are denied.
func (d *draft) onlyTools(field string, names []string, n *node) {
	d.used[field] = true
	var quoted []string
	for _, name := range names {
		if name == "*" {
			return
		}
		if plainTool(name) { // of any other name there is no tool
			quoted = append(quoted, strconv.Quote(name))
		}
	}
	d.rule("deny", d.e.Name, "*", "", "!(tool in ["+strings.Join(quoted, ", ")+"])", d.at(n, field))
}

func (d *draft) only(field string) {
	if _, n := d.take(field); n.is(isList) {
		d.onlyTools(field, n.texts(), n)
	}
}

// byPrefix finds the entry that a name joined of server and tool begins with: the longest one.
func (r *reader) byPrefix(joined, sep string) (server, tool string, ok bool) {
	for _, e := range r.out.Entries {
		prefix := sanitised(e.Name) + sep
		if strings.HasPrefix(joined, prefix) && (!ok || len(e.Name) > len(server)) {
			server, tool, ok = e.Name, joined[len(prefix):], true
		}
	}
	return server, tool, ok && tool != ""
}

// sanitised is a server's name in the names of tools, as several products write it.
func sanitised(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (isWord(byte(r)) || r == '-') {
			return r
		}
		return '_'
	}, name)
}

package repair

import (
	"encoding/json"
	"strings"

	"github.com/usher-mcp/usher/mcp"
)

// nameLists writes required and dependentRequired.
func (o *object) nameLists(key string, k kind, value json.RawMessage) {
	if k == kindNames {
		if names, ok := o.list(value); ok {
			o.node.setRequired(names)
			if len(names) == 0 {
				o.note(o.place, "an empty "+key+" is left out")
			}
		}
		return
	}
	var b []byte
	renamed := false
	for name, list := range mcp.Members(value) {
		names, ok := o.list(list)
		if !ok {
			continue
		}
		to := o.names.rename(mcp.Text(name))
		renamed = renamed || to != mcp.Text(name) || string(list) != string(quoteAll(names))
		b = append(append(append(b, ','), mcp.Quote(to)...), ':')
		b = append(b, quoteAll(names)...)
	}
	switch {
	case len(b) == 0:
		o.lose(o.place, "an empty "+key+" is left out")
	case renamed:
		o.node.set(member{key: key, raw: append(append([]byte{'{'}, b[1:]...), '}')})
	default:
		o.data(key, kindData, value)
	}
}

// list reads an array of names, under their new names.
func (o *object) list(value json.RawMessage) (names []string, ok bool) {
	if value[0] != '[' {
		o.lose(o.place, "a list of names that is none is left out")
		return nil, false
	}
	seen := map[string]bool{}
	for e := range mcp.Elements(value) {
		to := o.names.rename(mcp.Text(e))
		switch {
		case e[0] != '"':
			o.lose(o.place, "a name that is no text is left out")
		case seen[to]:
			o.note(o.place, "a name that is there twice is left out")
		default:
			if to != mcp.Text(e) {
				o.renamed(mcp.Text(e), to)
			}
			seen[to] = true
			names = append(names, to)
		}
	}
	return names, true
}

func (o *object) renamed(name, to string) {
	o.note(o.place, quoted(name)+" is called "+strings.ReplaceAll(quoted(to), `"`, "")+" toward the model")
}

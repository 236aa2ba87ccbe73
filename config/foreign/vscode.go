package foreign

import "strings"

// vscode is VS Code's mcp.json, with its inputs, and what older versions have in settings.json.
type vscode struct{}

var _ adapter = vscode{}

func (vscode) places(m Machine) (all []spot) {
	for _, editor := range []string{"Code", "Code - Insiders", "VSCodium"} {
		all = append(all, own(m.configHome(editor, "User", "mcp.json"), m.configHome(editor, "User", "settings.json"), m.configHome(editor, "User", "profiles", "*", "mcp.json"))...)
	}
	return append(all, inProject(".vscode/mcp.json")...)
}

func (vscode) read(r *reader) {
	for _, at := range [][]string{{"servers"}, {"mcp", "servers"}, {"mcpServers"}} {
		r.servers(r.root.get(at...), strings.Join(at, "."), "", func(d *draft) {
			d.server(shape{values: ofEditor(true), untyped: "http"})
		})
	}
}

// input is what a person was asked for there: a secret, or a variable with the default that it has.
func (c *context) input(id string) (part, bool) {
	inputs := c.root.get("inputs")
	if inputs == nil {
		inputs = c.root.get("mcp", "inputs")
	}
	var n *node
	if inputs.is(isList) {
		for _, i := range inputs.items {
			if i.get("id").is(isText) && i.get("id").text == id {
				n = i
			}
		}
	}
	switch {
	case n == nil:
		c.warn("there is no input of this name; it stays as it is")
		return part{}, false
	case n.get("password").isTrue() || c.secret || secretName(id):
		return c.keyring(clean(id), "asked for there"), true
	}
	name := upper(id)
	c.warn("an input; set the variable " + name)
	if d := n.get("default"); d.is(isText) && d.text != "" && len(secretSpans(d.text)) == 0 {
		return c.variable(name, d.text, true, false), true
	}
	return part{ref: "${" + name + "}"}, true
}

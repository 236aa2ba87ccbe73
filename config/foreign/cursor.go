package foreign

import "strings"

// cursor is Cursor: mcp.json, and the rules of permissions.json and of its command line.
type cursor struct{}

var _ adapter = cursor{}

func (cursor) places(m Machine) []spot {
	all := own(m.home(".cursor", "mcp.json"), m.home(".cursor", "permissions.json"), m.home(".cursor", "cli-config.json"))
	return append(all, inProject(".cursor/mcp.json", ".cursor/permissions.json", ".cursor/cli.json")...)
}

func (cursor) read(r *reader) {
	r.servers(r.root.get("mcpServers"), "mcpServers", "", func(d *draft) { d.server(shape{values: ofEditor(false)}) })
	r.cursorRules("allow", r.root.get("mcpAllowlist"), "mcpAllowlist")
	for _, list := range []string{"deny", "allow"} {
		r.cursorRules(list, r.root.get("permissions", list), "permissions."+list)
	}
}

// cursorRules reads SERVER:TOOL and Mcp(SERVER:TOOL).
func (r *reader) cursorRules(list string, n *node, field string) {
	if !n.is(isList) {
		return
	}
	for i, item := range n.items {
		rule, wrapped := strings.CutPrefix(item.text, "Mcp(")
		if rule = strings.TrimSuffix(rule, ")"); !item.is(isText) || wrapped != strings.HasSuffix(item.text, ")") || !wrapped && field != "mcpAllowlist" {
			continue // on the product's own tools
		}
		at := r.where(item.line, index(field, i))
		server, tool, found := strings.Cut(rule, ":")
		switch {
		case !found || server == "" || tool == "":
			r.lose(at, "expected SERVER:TOOL")
		case strings.Contains(server, "*") && list == "allow":
			r.lose(at, "an allow rule for all servers isn't taken over")
		case strings.Contains(server, "*"):
			r.rule(list, "*", tool, "", "", at)
		default:
			r.rule(list, server, tool, "", "", at)
		}
	}
}

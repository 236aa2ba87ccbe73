package foreign

import (
	"fmt"
	"strings"
)

// claudeRules reads the rules on tools of MCP servers. Those on the product's own tools have no meaning here.
func (r *reader) claudeRules(permissions *node) {
	if !permissions.is(isObject) {
		return
	}
	others := 0
	for _, list := range []string{"deny", "ask", "allow"} {
		field := join("permissions", list)
		n := permissions.get(list)
		if !n.is(isList) {
			continue
		}
		for i, item := range n.items {
			at := r.where(item.line, index(field, i))
			switch {
			case item.is(isText) && (strings.HasPrefix(item.text, "mcp__") || item.text == "*" && list != "allow"):
				r.claudeRule(list, item.text, at)
			case item.is(isText):
				others++
			default:
				r.lose(at, "expected a text")
			}
		}
	}
	if others > 0 {
		r.note(r.where(permissions.line, "permissions"), fmt.Sprintf("rules on the product's own tools are left (%d)", others))
	}
	if mode := permissions.get("defaultMode"); mode.is(isText) && mode.text != "default" {
		r.note(r.where(mode.line, "permissions.defaultMode"), "the mode isn't taken over")
	}
}

// claudeRule reads mcp__SERVER, mcp__SERVER__TOOL and either with (name:value).
func (r *reader) claudeRule(list, rule string, at Where) {
	name, args := rule, ""
	if i := strings.IndexByte(rule, '('); i >= 0 {
		if !strings.HasSuffix(rule, ")") {
			r.lose(at, "its parenthesis isn't closed")
			return
		}
		name, args = rule[:i], rule[i:]
	}
	server, tool, found := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	if name == "*" {
		server = "*"
	}
	if !found || tool == "" {
		tool = "*"
	}
	switch {
	case server == "" || len(rule) > 512:
		r.lose(at, "names no server")
	case strings.Contains(server, "*") && list == "allow":
		r.lose(at, "an allow rule must name its server, there and here")
	case strings.Contains(server, "*"):
		r.rule(list, "*", tool, args, "", at)
	default:
		r.rule(list, server, tool, args, "", at)
	}
}

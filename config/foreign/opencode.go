package foreign

import (
	"path/filepath"
	"strings"
	"time"
)

// opencode is opencode's configuration: mcp.NAME of version 1, and mcp.servers.NAME of version 2.
type opencode struct{}

var _ adapter = opencode{}

func (opencode) places(m Machine) []spot {
	all := own(m.configHome("opencode", "opencode.jsonc"), m.configHome("opencode", "opencode.json"), m.configHome("opencode", "config.json"))
	if p := m.env("OPENCODE_CONFIG"); filepath.IsAbs(p) {
		all = append(all, own(p)...)
	}
	return append(all, inProject("opencode.jsonc", "opencode.json", ".opencode/opencode.jsonc", ".opencode/opencode.json")...)
}

func (opencode) read(r *reader) {
	one := func(d *draft) {
		d.wholeCommand()
		d.server(shape{values: ofOpencode, env: "environment", unit: time.Millisecond})
	}
	all := r.root.get("mcp")
	if v2 := all.get("servers"); v2.is(isObject) && !v2.get("type").is(isText) {
		r.servers(v2, "mcp.servers", "", one)
	} else {
		r.servers(all, "mcp", "", one)
	}
	r.opencodeRules()
}

// opencodeRules reads rules on SERVER_TOOL. There the last one that matches wins, here deny does before ask and allow: what
// comes of it is never wider.
func (r *reader) opencodeRules() {
	lists := map[string]string{"allow": "allow", "ask": "ask", "deny": "deny"}
	for _, m := range r.members("permission") {
		if list := lists[m.value.text]; list != "" && m.value.is(isText) {
			r.joined(list, m.name, r.where(m.line, join("permission", m.name)))
		}
	}
	for _, m := range r.members("tools") {
		if m.value.isFalse() {
			r.joined("deny", m.name, r.where(m.line, join("tools", m.name)))
		}
	}
}

func (r *reader) members(field string) []member {
	if n := r.root.get(field); n.is(isObject) {
		return n.members
	}
	return nil
}

func (r *reader) joined(list, pattern string, at Where) {
	server, tool, ok := r.byPrefix(pattern, "_")
	switch {
	case ok:
		r.rule(list, server, tool, "", "", at)
	case strings.HasPrefix(pattern, "*"):
		r.note(at, "a rule on all tools, the product's own, too, isn't taken over")
	}
}

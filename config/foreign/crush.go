package foreign

import (
	"path/filepath"
	"strings"
	"time"
)

// crush is Crush's crush.json.
type crush struct{}

var _ adapter = crush{}

func (crush) places(m Machine) []spot {
	all := own(m.configHome("crush", "crush.json"), filepath.Join(m.folder("XDG_DATA_HOME", ".local/share"), "crush", "crush.json"))
	return append(all, inProject(".crush.json", "crush.json")...)
}

func (crush) read(r *reader) {
	r.servers(r.root.get("mcp"), "mcp", "", func(d *draft) {
		d.only("enabled_tools")
		d.toolList("deny", "disabled_tools", false)
		d.server(shape{values: ofCrush, untyped: "http", unit: time.Second})
	})
	n := r.root.get("permissions", "allowed_tools")
	if !n.is(isList) {
		return
	}
	for i, item := range n.items {
		name, isTool := strings.CutPrefix(item.text, "mcp_")
		server, tool, ok := r.byPrefix(name, "_")
		if !isTool || !ok || !plainTool(tool) {
			continue
		}
		at := r.where(item.line, index("permissions.allowed_tools", i))
		if strings.Contains(tool, ":") {
			r.lose(at, "a rule on one action of a tool isn't taken over")
			continue
		}
		r.rule("allow", server, tool, "", "", at)
	}
}

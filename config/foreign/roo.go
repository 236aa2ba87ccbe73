package foreign

import "time"

// roo is Roo Code's mcp_settings.json and .roo/mcp.json.
type roo struct{}

var _ adapter = roo{}

func (roo) places(m Machine) []spot {
	all := editors(m, "rooveterinaryinc.roo-cline", "settings", "mcp_settings.json")
	all = append(all, editors(m, "rooveterinaryinc.roo-cline", "settings", "cline_mcp_settings.json")...)
	return append(all, inProject(".roo/mcp.json")...)
}

func (roo) read(r *reader) {
	r.servers(r.root.get("mcpServers"), "mcpServers", "", func(d *draft) {
		d.toolList("allow", "alwaysAllow", true)
		d.toolList("deny", "disabledTools", false)
		d.server(shape{values: ofEditor(false), unit: time.Second})
	})
}

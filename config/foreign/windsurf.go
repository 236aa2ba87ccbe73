package foreign

// windsurf is Windsurf's mcp_config.json.
type windsurf struct{}

var _ adapter = windsurf{}

func (windsurf) places(m Machine) []spot {
	return own(m.home(".codeium", "windsurf", "mcp_config.json"), m.home(".codeium", "mcp_config.json"))
}

func (windsurf) read(r *reader) {
	r.servers(r.root.get("mcpServers"), "mcpServers", "", func(d *draft) {
		d.toolList("deny", "disabledTools", false)
		d.toolList("allow", "alwaysAllow", false)
		d.server(shape{values: ofEditor(false), urls: []string{"serverUrl"}})
	})
}

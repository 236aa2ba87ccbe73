package foreign

// claudeDesktop is Claude Desktop.
type claudeDesktop struct{}

var _ adapter = claudeDesktop{}

func (claudeDesktop) places(m Machine) []spot {
	return own(m.configHome("Claude", "claude_desktop_config.json"), m.home("Library", "Application Support", "Claude", "claude_desktop_config.json"))
}

func (claudeDesktop) read(r *reader) {
	r.servers(r.root.get("mcpServers"), "mcpServers", "", func(d *draft) { d.server(shape{values: literal}) })
}

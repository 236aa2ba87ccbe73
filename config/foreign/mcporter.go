package foreign

// mcporter is mcporter's configuration.
type mcporter struct{}

var _ adapter = mcporter{}

func (mcporter) places(m Machine) []spot {
	all := own(m.home(".mcporter", "mcporter.json"), m.home(".mcporter", "mcporter.jsonc"), m.configHome("mcporter", "mcporter.json"))
	return append(all, inProject("config/mcporter.json")...)
}

func (mcporter) read(r *reader) {
	r.servers(r.root.get("mcpServers"), "mcpServers", "", func(d *draft) {
		d.wholeCommand()
		d.only("allowedTools")
		d.toolList("deny", "blockedTools", false)
		d.server(shape{values: ofClaude, urls: []string{"baseUrl", "base_url", "serverUrl"}, harmless: []string{"lifecycle", "logging"}})
	})
}

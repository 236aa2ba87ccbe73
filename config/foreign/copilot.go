package foreign

import (
	"path/filepath"
	"time"
)

// copilot is Copilot CLI's mcp-config.json.
type copilot struct{}

var _ adapter = copilot{}

func (copilot) places(m Machine) []spot {
	return append(own(filepath.Join(m.folder("COPILOT_HOME", ".copilot"), "mcp-config.json")), inProject(".github/mcp.json")...)
}

func (copilot) read(r *reader) {
	off := r.root.get("disabledMcpServers").texts()
	r.servers(r.root.get("mcpServers"), "mcpServers", "", func(d *draft) {
		d.only("tools")
		d.server(shape{values: ofShell, untyped: "http", unit: time.Millisecond})
		for _, name := range off {
			d.e.Disabled = d.e.Disabled || name == d.e.Name
		}
	})
}

package foreign

import (
	"path/filepath"
	"time"
)

// cline is Cline's cline_mcp_settings.json.
type cline struct{}

var _ adapter = cline{}

// editors are the folders of those that Cline and Roo Code are extensions of.
func editors(m Machine, path ...string) (all []spot) {
	for _, editor := range []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"} {
		all = append(all, own(m.configHome(append([]string{editor, "User", "globalStorage"}, path...)...))...)
	}
	return all
}

func (cline) places(m Machine) []spot {
	all := editors(m, "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")
	return append(all, own(filepath.Join(m.folder("CLINE_DIR", ".cline"), "data", "settings", "cline_mcp_settings.json"))...)
}

func (cline) read(r *reader) {
	r.servers(r.root.get("mcpServers"), "mcpServers", "", func(d *draft) {
		if d.n.get("transport").is(isObject) {
			d.flatten("transport", nil)
		}
		d.toolList("allow", "autoApprove", true)
		d.server(shape{values: literal, untyped: "sse", unit: time.Second})
	})
}

package foreign

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// claude is Claude Code: .claude.json with the user's servers and those of folders, .mcp.json, and settings.json.
type claude struct{}

var _ adapter = claude{}

func (claude) places(m Machine) []spot {
	home := m.folder("CLAUDE_CONFIG_DIR", ".claude")
	state := m.home(".claude.json")
	if m.env("CLAUDE_CONFIG_DIR") != "" {
		state = filepath.Join(home, ".claude.json")
	}
	return append(own(state, filepath.Join(home, "settings.json")), inProject(".mcp.json", ".claude/settings.json", ".claude/settings.local.json")...)
}

func (claude) read(r *reader) {
	one := func(d *draft) {
		d.e.StartTimeout = 0
		d.claudeTimeouts()
		d.server(shape{values: ofClaude, untyped: "http", harmless: []string{"request_timeout_ms", "timeout"}})
	}
	r.servers(r.root.get("mcpServers"), "mcpServers", "", one)
	if n := r.root.get("servers"); n.is(isObject) && r.root.get("mcpServers") == nil {
		r.lose(r.where(n.line, "servers"), `not read by this product; it reads "mcpServers"`)
	}
	r.claudeFolders(one)
	r.claudeRules(r.root.get("permissions"))
}

func (d *draft) claudeTimeouts() {
	d.e.CallTimeout = d.time(time.Millisecond, "timeout")
	if d.e.CallTimeout < time.Second {
		d.e.CallTimeout = 0 // the product ignores it, too
	}
	if d.e.CallTimeout == 0 {
		d.e.CallTimeout = d.time(time.Millisecond, "request_timeout_ms")
	}
}

// claudeFolders reads the servers of the folder that one works in, and those above it.
func (r *reader) claudeFolders(one func(*draft)) {
	projects := r.root.get("projects")
	if !projects.is(isObject) {
		return
	}
	others, servers := 0, 0
	for _, p := range projects.members {
		all := p.value.get("mcpServers")
		if !all.is(isObject) || len(all.members) == 0 {
			continue
		}
		field := join(join("projects", p.name), "mcpServers")
		if !within(r.machine.Dir, p.name) {
			others, servers = others+1, servers+len(all.members)
			continue
		}
		before := len(r.out.Entries)
		r.servers(all, field, p.name, one)
		off := p.value.get("disabledMcpServers").texts()
		for i := range r.out.Entries[before:] {
			e := &r.out.Entries[before+i]
			for _, name := range off {
				e.Disabled = e.Disabled || e.Name == name
			}
		}
	}
	if others > 0 {
		r.note(r.where(projects.line, "projects"), fmt.Sprintf("servers of other folders (%d in %d) are left; run this there", servers, others))
	}
}

func within(dir, folder string) bool {
	rest, ok := strings.CutPrefix(dir, strings.TrimSuffix(folder, "/"))
	return ok && filepath.IsAbs(folder) && (rest == "" || rest[0] == '/')
}

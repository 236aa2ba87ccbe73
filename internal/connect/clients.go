package connect

import "strings"

const (
	restart = "restart it, so that it starts usher"
	reload  = "start a new session, so that it starts usher"
)

// Clients are all the agents that are known, in the order of their names.
func Clients() []*Client {
	servers := []string{"mcpServers"}
	return []*Client{
		{Name: "claude", Title: "Claude Code", Next: reload, program: "claude", format: jsonFile{}, root: servers, shape: typed("stdio"),
			user: claudeFile, project: []string{".mcp.json"}, names: simpleName,
			taken: []string{"workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser"}},
		{Name: "claude-desktop", Title: "Claude Desktop", Next: restart, format: jsonFile{}, root: servers, shape: plain,
			user: func(p Place) []string { return []string{p.config("Claude", "claude_desktop_config.json")} }},
		{Name: "cline", Title: "Cline", Next: restart, program: "cline", format: jsonFile{}, root: servers, shape: plain, user: func(p Place) []string {
			return []string{
				p.config("Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json"),
				p.home("CLINE_DIR", ".cline", "data", "settings", "cline_mcp_settings.json"),
			}
		}},
		{Name: "codex", Title: "Codex", Next: reload, program: "codex", format: tomlFile{}, root: []string{"mcp_servers"}, shape: codex,
			user: func(p Place) []string { return []string{p.home("CODEX_HOME", ".codex", "config.toml")} }, project: []string{".codex/config.toml"}, names: simpleName},
		{Name: "copilot", Title: "Copilot CLI", Next: reload, program: "copilot", format: jsonFile{}, root: servers, shape: copilot,
			user: func(p Place) []string { return []string{p.home("COPILOT_HOME", ".copilot", "mcp-config.json")} }, project: []string{".github/mcp.json"}},
		{Name: "crush", Title: "Crush", Next: reload, program: "crush", format: jsonFile{}, root: []string{"mcp"}, shape: typed("stdio"),
			user: func(p Place) []string { return []string{p.config("crush", "crush.json")} }, project: []string{"crush.json", ".crush.json"}},
		{Name: "cursor", Title: "Cursor", Next: restart, program: "cursor", format: jsonFile{}, root: servers, shape: plain,
			user: func(p Place) []string { return []string{p.home("", ".cursor", "mcp.json")} }, project: []string{".cursor/mcp.json"}},
		{Name: "gemini", Title: "Gemini CLI", Next: reload, program: "gemini", format: jsonFile{}, root: servers, shape: gemini,
			user: func(p Place) []string { return []string{p.geminiFile()} }, project: []string{".gemini/settings.json"}},
		{Name: "goose", Title: "Goose", Next: reload, program: "goose", format: yamlFile{}, root: []string{"extensions"}, shape: goose, key: gooseKey,
			user: func(p Place) []string { return []string{p.config("goose", "config.yaml")} }},
		{Name: "mcporter", Title: "mcporter", Next: "it takes that up by itself", program: "mcporter", format: jsonFile{}, root: servers, shape: plain,
			user: func(p Place) []string {
				return []string{p.home("", ".mcporter", "mcporter.json"), p.home("", ".mcporter", "mcporter.jsonc")}
			},
			project: []string{"config/mcporter.json"}},
		{Name: "opencode", Title: "opencode", Next: reload, program: "opencode", format: jsonFile{}, root: []string{"mcp"}, shape: opencode,
			user: opencodeFiles, project: []string{"opencode.jsonc", "opencode.json", ".opencode/opencode.jsonc", ".opencode/opencode.json"}},
		{Name: "roo", Title: "Roo Code", Next: restart, format: jsonFile{}, root: servers, shape: plain, user: func(p Place) []string {
			return []string{p.config("Code", "User", "globalStorage", "rooveterinaryinc.roo-cline", "settings", "mcp_settings.json")}
		}, project: []string{".roo/mcp.json"}},
		{Name: "vscode", Title: "VS Code", Next: "run its command MCP: List Servers, and start what is new", program: "code", format: jsonFile{}, root: []string{"servers"}, shape: typed("stdio"),
			user: func(p Place) []string { return []string{p.config("Code", "User", "mcp.json")} }, project: []string{".vscode/mcp.json"}},
		{Name: "windsurf", Title: "Windsurf", Next: restart, program: "windsurf", format: jsonFile{}, root: servers, shape: plain,
			user: func(p Place) []string { return []string{p.home("", ".codeium", "windsurf", "mcp_config.json")} }},
		{Name: "zed", Title: "Zed", Next: "it takes that up by itself", program: "zed", format: jsonFile{}, root: []string{"context_servers"}, shape: plain,
			user: func(p Place) []string { return []string{p.config("zed", "settings.json")} }, project: []string{".zed/settings.json"}},
	}
}

func claudeFile(p Place) []string {
	if dir := p.env("CLAUDE_CONFIG_DIR"); dir != "" {
		return []string{p.home("CLAUDE_CONFIG_DIR", "", ".claude.json")}
	}
	return []string{p.home("", ".claude.json")}
}

func (p Place) geminiFile() string {
	if home := p.env("GEMINI_CLI_HOME"); home != "" {
		p.Home = home
	}
	return p.home("", ".gemini", "settings.json")
}

func opencodeFiles(p Place) []string {
	if file := p.env("OPENCODE_CONFIG"); file != "" {
		return []string{file}
	}
	return []string{p.config("opencode", "opencode.jsonc"), p.config("opencode", "opencode.json"), p.config("opencode", "config.json")}
}

// gooseKey is how Goose itself makes a key of a name.
func gooseKey(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ', r == '\t':
			return -1
		case r == '_', r == '-', r >= '0' && r <= '9', r >= 'a' && r <= 'z':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, name)
}

package foreign

import "slices"

// Product is one whose configuration can be read.
type Product struct {
	Name  string // such as vscode
	Title string // such as VS Code

	adapter adapter
}

// adapter reads the files of one format.
type adapter interface {
	// places lists where the files may be, without looking.
	places(m Machine) []spot
	// read fills r.
	read(r *reader)
}

// Products lists all of them, in the order in which the first one's server wins.
func Products() []Product {
	return []Product{
		{"claude", "Claude Code", claude{}},
		{"claude-desktop", "Claude Desktop", claudeDesktop{}},
		{"cursor", "Cursor", cursor{}},
		{"vscode", "VS Code", vscode{}},
		{"codex", "Codex", codex{}},
		{"gemini", "Gemini CLI", gemini{}},
		{"opencode", "opencode", opencode{}},
		{"copilot", "Copilot CLI", copilot{}},
		{"windsurf", "Windsurf", windsurf{}},
		{"zed", "Zed", zed{}},
		{"cline", "Cline", cline{}},
		{"roo", "Roo Code", roo{}},
		{"goose", "Goose", goose{}},
		{"crush", "Crush", crush{}},
		{"continue", "Continue", continues{}},
		{"mcporter", "mcporter", mcporter{}},
	}
}

// ProductNamed finds one by its Name.
func ProductNamed(name string) (Product, bool) {
	all := Products()
	i := slices.IndexFunc(all, func(p Product) bool { return p.Name == name })
	if i < 0 {
		return Product{}, false
	}
	return all[i], true
}

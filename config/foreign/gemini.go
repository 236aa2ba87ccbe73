package foreign

import (
	"slices"
	"strings"
	"time"
)

// gemini is Gemini CLI's settings.json.
type gemini struct{}

var _ adapter = gemini{}

func (gemini) places(m Machine) []spot {
	return append(own(m.home(".gemini", "settings.json")), inProject(".gemini/settings.json")...)
}

func (gemini) read(r *reader) {
	allowed, excluded := r.root.get("mcp", "allowed"), r.root.get("mcp", "excluded").texts()
	r.servers(r.root.get("mcpServers"), "mcpServers", "", func(d *draft) {
		if d.n.get("httpUrl").is(isText) && d.n.get("type") == nil {
			d.e.Type = "http"
		}
		if trust, _ := d.flag("trust"); trust {
			d.rule("allow", d.e.Name, "*", "", "", d.at(d.n.get("trust"), "trust"))
		}
		d.geminiTools()
		d.server(shape{values: ofShell, urls: []string{"httpUrl"}, untyped: d.e.Type, unit: time.Millisecond})
		off := slices.Contains(excluded, d.e.Name) || allowed.is(isList) && !slices.Contains(allowed.texts(), d.e.Name)
		d.e.Disabled = d.e.Disabled || off
	})
	if n := r.root.get("mcp", "serverCommand"); n.is(isText) && n.text != "" {
		r.lose(r.where(n.line, "mcp.serverCommand"), "a server without a name isn't taken over")
	}
}

// geminiTools reads the lists of tools. Its command line writes several names into one text, with commas.
func (d *draft) geminiTools() {
	names := func(n *node) (all []string) {
		for _, s := range n.texts() {
			for name := range strings.SplitSeq(s, ",") {
				name, _, _ = strings.Cut(strings.TrimSpace(name), "(")
				all = append(all, name)
			}
		}
		return all
	}
	if _, n := d.take("includeTools"); n.is(isList) && len(n.items) > 0 {
		d.onlyTools("includeTools", names(n), n)
	}
	if _, n := d.take("excludeTools"); n != nil {
		for _, name := range names(n) {
			d.tool("deny", name, n.line, "excludeTools")
		}
	}
}

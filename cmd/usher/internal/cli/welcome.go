package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

// welcome is the start screen. It waits for the servers, but not long, and returns them as they are shown.
func (a *app) welcome(ctx context.Context, h *standard.Host, c *config.Config, d *doors) []usher.ServerStatus {
	w := a.err
	fmt.Fprintf(w, "\n  %s %s\n\n", w.paint(bold, "usher"), usher.Version)
	for _, e := range d.ends {
		fmt.Fprintf(w, "  %s %s\n", w.paint(dim, pad(e.name, 9)), w.paint(cyan, e.url)) // unbroken, to be copied
	}
	fmt.Fprintln(w)
	look, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	_ = a.ready(look, h.Host) // what isn't there yet is shown as such
	servers := h.Servers()
	if ctx.Err() != nil {
		return servers
	}
	a.welcomeServers(h, c, servers)
	a.welcomeIdle(c)
	tools, err := allTools(h, "usher serve")
	if err != nil {
		a.welcomeRow("built in", err.Error(), red)
	} else {
		a.welcomeRow("built in", builtins(tools), "")
	}
	a.welcomeRow("", "for files in "+h.Dir, dim)
	if exists(h.ConfigPath) {
		a.welcomeRow("config", h.ConfigPath, "")
	}
	a.welcomeRow("log", absolute(a.journalDir(c)), "")
	a.connect(d)
	fmt.Fprintf(w, "\n  %s\n\n", w.paint(dim, "Ctrl-C stops it"))
	a.notes(h.Problems)
	for _, q := range surroundingsOf(c, servers, tools).questionable(listedRules(c), "") {
		fmt.Fprintf(w, "%s %s\n", w.paint(yellow, "note:"), w.wrapped(line(q.Text()), len("note: ")))
	}
	return servers
}

const welcomeIndent = 2 + 9 + 1

func (a *app) welcomeRow(name, text string, c style) {
	fmt.Fprintf(a.err, "  %s %s\n", a.err.paint(dim, pad(name, 9)), a.err.paint(c, a.err.wrapped(line(text), welcomeIndent)))
}

// welcomeIdle says which servers don't run because they wait for trust or may not.
func (a *app) welcomeIdle(c *config.Config) {
	if text := a.waitingText(c); text != "" {
		a.welcomeRow("trust", text, yellow)
		fmt.Fprintf(a.err, "%s%s\n", strings.Repeat(" ", welcomeIndent), a.err.paint(dim, line(a.command())+" trust"))
	}
	for i, text := range blockedTexts(c) {
		a.welcomeRow(once(i, "blocked"), text, yellow)
	}
}

func (a *app) welcomeServers(h *standard.Host, c *config.Config, servers []usher.ServerStatus) {
	if len(servers) == 0 {
		a.welcomeNone(h)
		return
	}
	widest := 0
	for _, s := range servers {
		widest = max(widest, width(line(s.Name)))
	}
	for i, s := range servers {
		head := ""
		if i == 0 {
			head = "servers"
		}
		a.welcomeServer(pad(head, 9), entryOf(c, s.Name), s, widest)
	}
}

func (a *app) welcomeServer(head string, c config.Server, s usher.ServerStatus, widest int) {
	sign, text, next := a.err.paint(green, good), plural(s.Tools, "tool"), ""
	if foreignTo(c.Source) {
		text += " (" + c.Source + ")"
	}
	switch {
	case s.Fails():
		sign, text, next = a.err.paint(red, bad), cut(line(inWords(c, s.Err, why(s.Err))), maxReason), line(a.command())+" doctor "+line(shellWord(s.Name))
	case s.State == "starting", s.State == "idle":
		sign, text = a.err.paint(yellow, "…"), "still starting"
	}
	indent := welcomeIndent + 2 + widest + 2
	fmt.Fprintf(a.err, "  %s %s %s  %s\n", a.err.paint(dim, head), sign, pad(line(s.Name), widest), a.err.wrapped(text, indent))
	if next != "" {
		fmt.Fprintf(a.err, "%s%s\n", strings.Repeat(" ", indent), a.err.paint(dim, next))
	}
}

// welcomeNone says where a configuration was looked for and what a first one looks like.
func (a *app) welcomeNone(h *standard.Host) {
	if exists(h.ConfigPath) {
		a.welcomeRow("servers", "none in the config", yellow)
		return
	}
	if len(idle(h.Config())) > 0 {
		a.welcomeRow("servers", "none that may run", yellow)
		return
	}
	a.welcomeRow("servers", "none: there is no "+h.ConfigPath, yellow)
	a.welcomeRow("", "a first one looks like this:", dim)
	for l := range strings.Lines(firstConfig) {
		fmt.Fprintf(a.err, "            %s\n", a.err.paint(dim, strings.TrimRight(l, "\n")))
	}
}

func builtins(tools []usher.Tool) string {
	var names []string
	for _, t := range tools {
		if t.Server == "" && t.Effect != permission.Deny {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, ", ")
}

// connect says how an agent gets here. What is there to be copied is never broken.
func (a *app) connect(d *doors) {
	w := a.err
	url := d.urls()["url"]
	entry := `{"mcpServers": {"usher": {"type": "http", "url": "` + url + `"}}}`
	ways := [][2]string{{"Claude Code", "claude mcp add --transport http usher " + url}, {"others", entry}}
	if strings.HasPrefix(url, "unix:") { // few clients know sockets
		ways = [][2]string{{"other usher", strings.Replace(entry, `"usher"`, `"gateway"`, 1)}} // the name usher is reserved
	}
	ways = append(ways, [2]string{"over stdio", line(a.stdioEntry())})
	fmt.Fprintf(w, "\n  %s\n", w.paint(bold, "Connect an agent"))
	folded := w.width() > 0 && w.width() < roomy
	for _, way := range ways {
		name := pad(way[0], 11) + "  "
		if folded {
			name = way[0] + "\n      "
		}
		fmt.Fprintf(w, "    %s%s\n", name, w.paint(cyan, way[1]))
	}
}

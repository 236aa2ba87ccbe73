package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/usher-mcp/usher/mcp"
)

const (
	mostNotes   = 20 // tools with something odd that are listed
	mostRepairs = 3  // changes of one schema that are listed
	deeper      = ownLine + "  "
)

func (a *app) heading(text, more string) {
	text = line(text)
	if more != "" {
		more = "  " + wrap(line(more), len(ownLine)+width(text)+2, len(deeper), a.out.width())
	}
	fmt.Fprintf(a.out, "\n%s%s%s\n", ownLine, a.out.paint(bold, text), more)
}

// item is a line below a heading.
func (a *app) item(c style, text string) {
	fmt.Fprintf(a.out, "%s%s\n", deeper, a.out.paint(c, a.out.wrapped(line(text), len(deeper))))
}

func (a *app) showDepth(s serverHealth) {
	d := s.Depth
	a.heading("Next", "")
	for _, n := range d.Next {
		if n = line(n); !strings.Contains(n, a.command()+" ") { // a command stays whole, to be copied
			n = a.out.wrapped(n, len(deeper))
		}
		fmt.Fprintf(a.out, "%s%s\n", deeper, n)
	}
	a.showDeclared(d)
	a.showSteps(s)
	a.showDropped(d.Dropped)
	a.showSchemas(d.Schemas)
	a.showDecision(s)
	fmt.Fprintln(a.out)
}

func (a *app) showDeclared(d *depth) {
	if d.ServerInfo == nil && d.Capabilities == nil {
		return
	}
	a.heading("Declares", "")
	if name := strings.TrimSpace(mcp.Text(mcp.Member(d.ServerInfo, "name")) + " " + mcp.Text(mcp.Member(d.ServerInfo, "version"))); name != "" {
		a.item("", "it calls itself "+cut(line(name), maxReason))
	}
	a.item("", declared(d.Capabilities))
}

// declared is a server's capabilities in words: tools (listChanged), prompts.
func declared(capabilities json.RawMessage) string {
	var all []string
	for key, value := range mcp.Members(capabilities) {
		var flags []string
		for flag, on := range mcp.Members(value) {
			if string(on) != "false" {
				flags = append(flags, mcp.Text(flag))
			}
		}
		name := mcp.Text(key)
		if len(flags) > 0 {
			name += " (" + strings.Join(flags, ", ") + ")"
		}
		all = append(all, name)
	}
	if len(all) == 0 {
		return "nothing: no tools, no resources, no prompts"
	}
	return cut(line(strings.Join(all, ", ")), 3*maxReason)
}

// asTold is the least length of a result that isn't told a second time.
const asTold = 60

func (a *app) showSteps(server serverHealth) {
	steps, down := server.Depth.Steps, server.State == "down"
	if len(steps) == 0 {
		return
	}
	a.heading("Steps", "")
	widest := 0
	for _, s := range steps {
		widest = max(widest, width(line(s.What)))
	}
	for i, s := range steps {
		c := green
		switch {
		case s.Result != "ok" && down && i == len(steps)-1:
			c = red
		case s.Result != "ok":
			c = yellow
		}
		if result := line(s.Result); width(result) > asTold && strings.Contains(line(server.Error), strings.TrimSuffix(result, "…")) {
			s.Result = "failed: see above"
		}
		took := fmt.Sprintf("%8.1f ms", s.TookMs)
		indent := len(deeper) + widest + len(took) + 2
		if w := a.out.width(); w > 0 && w-indent < leastLast {
			indent = len(deeper) + 2
		}
		result := wrap(line(s.Result), len(deeper)+widest+len(took)+2, indent, a.out.width())
		fmt.Fprintf(a.out, "%s%s%s  %s\n", deeper, pad(line(s.What), widest), a.out.paint(dim, took), a.out.paint(c, result))
	}
}

func (a *app) showDropped(dropped []droppedTool) {
	if len(dropped) == 0 {
		return
	}
	a.heading("Left out", plural(len(dropped), "tool")+" that can't be offered")
	for i, t := range dropped {
		if i == mostNotes {
			a.item(dim, fmt.Sprintf("and %d more; see --json", len(dropped)-i))
			return
		}
		name := cut(line(t.Name), maxReason)
		if name == "" {
			name = "(no name)"
		}
		a.item(yellow, name+": "+t.Reason)
	}
}

func (a *app) showSchemas(notes []schemaNote) {
	if len(notes) == 0 {
		return
	}
	a.heading("Schemas", "")
	shown := 0
	for _, about := range []struct {
		says string
		of   func(schemaNote) string
	}{
		{"arguments aren't checked: ", func(n schemaNote) string { return n.Input }},
		{"results aren't checked: ", func(n schemaNote) string { return n.Output }},
		{"changed for model APIs, which would refuse it: ", func(n schemaNote) string { return someOf(n.Repairs) }},
	} {
		for _, g := range grouped(notes, about.of) {
			if shown++; shown > mostNotes {
				a.item(dim, "and more; see --json")
				return
			}
			a.item(yellow, g.names()+": "+about.says+g.text)
		}
	}
}

// group is the tools of which the same is to be told.
type group struct {
	text  string
	tools []string
}

// grouped leaves out tools of which nothing is to be told.
func grouped(notes []schemaNote, of func(schemaNote) string) []*group {
	var all []*group
	byText := map[string]*group{}
	for _, n := range notes {
		text := of(n)
		if text == "" {
			continue
		}
		g := byText[text]
		if g == nil {
			g = &group{text: text}
			byText[text] = g
			all = append(all, g)
		}
		g.tools = append(g.tools, n.Tool)
	}
	return all
}

const mostNames = 3 // tools that a group names

func (g *group) names() string {
	text := strings.Join(g.tools[:min(len(g.tools), mostNames)], ", ")
	if more := len(g.tools) - mostNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func someOf(repairs []string) string {
	text := strings.Join(repairs[:min(len(repairs), mostRepairs)], "; ")
	if more := len(repairs) - mostRepairs; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func (a *app) showDecision(s serverHealth) {
	a.heading("Transport", s.Transport+", since "+s.Depth.Chosen)
	for _, b := range drawn(decisionTree(), "", "", s.Depth.answers, true) {
		mark, c := "  ", dim
		if b.taken {
			mark, c = "▸ ", cyan
		}
		fmt.Fprintf(a.out, "%s%s\n", ownLine, a.out.paint(c, mark+b.text))
	}
	if s.Depth.Near {
		a.item(dim, "it is on this machine: one that usher starts itself, over stdio, needs no address")
	}
}

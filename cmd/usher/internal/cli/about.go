package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	near "github.com/usher-mcp/usher/internal/nearest"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/standard"
)

// aboutName lists the tools of the server that is called so, or shows the tool.
func (a *app) aboutName(ctx context.Context, name string, all bool) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	if slices.Contains(append(serverNames(c), idle(c)...), name) || leftOut(c, name) != nil {
		return a.listTools(ctx, name, all)
	}
	server, local := serverOf(c, name)
	if server != "" {
		if err := usable(c, server); err != nil {
			return err
		}
	}
	local = local || slices.Contains(a.builtinNames(), name)
	o := opening{only: func(s string) bool { return !local && (server == "" || s == server) }}
	return a.withHost(ctx, o, func(ctx context.Context, h *standard.Host) error {
		if err := a.readyFor(ctx, h, server); err != nil {
			return err
		}
		if err := down(h.Servers(), server, name); err != nil {
			return err
		}
		tools, err := allTools(h, "usher tools")
		if err != nil {
			return err
		}
		a.mistakes(h.Problems, func(p config.Problem) bool { return ofPermissions(p) || server != "" && fieldServer(p.Field) == server })
		return a.showTool(c, tools, name)
	})
}

func (a *app) showTool(c *config.Config, tools []usher.Tool, name string) error {
	i := slices.IndexFunc(tools, bears(name))
	if i < 0 {
		return noTool(c, tools, name)
	}
	if a.json {
		return writeJSON(a.out, []toolJSON{jsonOf(tools[i])})
	}
	a.describeTool(tools[i])
	return nil
}

// noTool names the tools or servers that may have been meant.
func noTool(c *config.Config, tools []usher.Tool, name string) error {
	known := map[string]string{} // what may be typed, and what it stands for
	for _, s := range serverNames(c) {
		known[s] = s
	}
	for _, t := range tools {
		full := t.Name
		if strings.Contains(name, "__") {
			full = t.Model
		}
		for _, typed := range []string{targetOf(t).Tool, full} {
			if known[typed] == "" {
				known[typed] = full
			}
		}
	}
	text, meant := fmt.Sprintf("no tool or server is called %q", name), known[name]
	if meant == "" {
		meant = known[near.Name(name, slices.Sorted(maps.Keys(known)))]
	}
	return usage(text+didYouMean(meant), "To see all tools, run: "+self+" tools")
}

func (a *app) describeTool(t usher.Tool) {
	w := a.out
	fmt.Fprintf(w, "%s  %s, %s\n", w.paint(bold, line(t.Name)), w.paint(riskStyle(t.Risk.String()), t.Risk.String()),
		w.paint(effectStyle(t.Effect.String()), effectWords(t.Effect.String())))
	fmt.Fprintf(w, "  %s\n", w.paint(dim, "for agents: "+line(t.Model)))
	for l := range strings.Lines(strings.TrimSpace(t.Description)) {
		fmt.Fprintf(w, "  %s\n", w.wrapped(line(l), 2))
	}
	args := argumentsOf(inputSchema(t.Definition))
	fmt.Fprintf(w, "\n  %s\n", w.paint(bold, "Arguments"))
	if len(args) == 0 {
		fmt.Fprintln(w, "    none")
	}
	names, kinds := 0, 0
	for _, x := range args {
		names, kinds = max(names, width(x.name)), max(kinds, width(x.kind))
	}
	names, kinds = min(names, mostName), min(kinds, mostName)
	for _, x := range args {
		head := pad(x.name, names) + "  " + pad(x.kind, kinds) + "  " + pad(x.required, len("required"))
		about := ""
		if x.about != "" {
			about = "  " + wrap(x.about, len(ownLine)+width(head)+2, len(deeper)+2, w.width())
		}
		fmt.Fprintf(w, "%s%s\n", ownLine, strings.TrimRight(head+about, " "))
	}
	fmt.Fprintf(w, "\n  %s\n%s%s\n", w.paint(bold, "Example"), ownLine, w.paint(cyan, exampleCall(line(a.command()), t.Name, args)))
}

const mostName = 24 // columns of a name or a type that others are aligned with

func effectWords(effect string) string {
	switch effect {
	case "allow":
		return "a call runs"
	case "deny":
		return "a rule denies it"
	}
	return "a call asks first"
}

// argument is one that a tool takes, printable.
type argument struct {
	name, kind, required, about string
	types                       []string
	choice                      string // the first of its values, if they are listed
}

// argumentsOf reads a schema: those that are required come first.
func argumentsOf(schema json.RawMessage) []argument {
	var must []string
	for r := range mcp.Elements(mcp.Member(schema, "required")) {
		must = append(must, mcp.Text(r))
	}
	var first, rest []argument
	for key, raw := range mcp.Members(mcp.Member(schema, "properties")) {
		property := follow(raw, schema)
		x := argument{name: line(mcp.Text(key)), types: typesOf(raw, schema), about: line(mcp.Text(mcp.Member(property, "description")))}
		x.kind = line(strings.Join(x.types, "|"))
		for value := range mcp.Elements(mcp.Member(property, "enum")) {
			if x.choice == "" {
				x.choice = line(plainText(value))
			}
			x.about += "; " + line(plainText(value))
		}
		if x.choice != "" {
			before, values, _ := strings.Cut(x.about, "; ")
			x.about = strings.TrimSpace(before + " (one of: " + strings.ReplaceAll(values, "; ", ", ") + ")")
		}
		if d := mcp.Member(property, "default"); d != nil {
			x.about = strings.TrimSpace(x.about + " (default " + line(string(d)) + ")")
		}
		x.about = cut(x.about, maxAbout)
		if slices.Contains(must, mcp.Text(key)) {
			x.required = "required"
			first = append(first, x)
		} else {
			rest = append(rest, x)
		}
	}
	return append(first, rest...)
}

const maxAbout = 400 // columns of an argument's description

func plainText(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		return mcp.Text(raw)
	}
	return string(raw)
}

// exampleCall is a call with the arguments that must be there, or the first one.
func exampleCall(command, tool string, args []argument) string {
	words := []string{command, "call", shellWord(line(tool))}
	for i, x := range args {
		if x.required == "" && (i > 0 || x.choice == "" && len(x.types) != 1) {
			break
		}
		words = append(words, shellPair(x.name, sampleOf(x)))
	}
	return strings.Join(words, " ")
}

func shellPair(name, value string) string {
	if word := shellWord(value); word != value || shellWord(name) != name {
		return shellWord(name + "=" + value)
	}
	return name + "=" + value
}

func sampleOf(x argument) string {
	if x.choice != "" {
		return x.choice
	}
	if len(x.types) == 0 {
		return "TEXT"
	}
	switch x.types[0] {
	case "integer":
		return "5"
	case "number":
		return "0.5"
	case "boolean":
		return "true"
	case "array":
		return `["a"]`
	case "object":
		return `{"a": 1}`
	}
	if strings.Contains(strings.ToLower(x.name), "path") {
		return "README.md"
	}
	return "TEXT"
}

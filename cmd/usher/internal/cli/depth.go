package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	jsonschema "github.com/usher-mcp/usher/internal/schema"
	"github.com/usher-mcp/usher/internal/schema/repair"
	"github.com/usher-mcp/usher/mcp"
)

// depth is what doctor tells of the one server that was asked for.
type depth struct {
	Chosen       string          `json:"chosen"`   // from what the transport follows
	Decision     []string        `json:"decision"` // the branch of the decision tree, from its root
	Near         bool            `json:"near"`     // a remote server is on this machine
	Steps        []stepTaken     `json:"steps"`
	ServerInfo   json.RawMessage `json:"serverInfo,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Dropped      []droppedTool   `json:"dropped"`
	Schemas      []schemaNote    `json:"schemas"` // of tools whose schemas have something wrong
	Next         []string        `json:"next"`    // what a person may do now
	// CommandLine is how a program that failed is started, without its secrets.
	CommandLine string `json:"commandLine,omitempty"`

	answers string // those of the decision tree
}

type stepTaken struct {
	What   string  `json:"what"`
	TookMs float64 `json:"tookMs"`
	Result string  `json:"result"` // "ok", or what went wrong
}

type droppedTool struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type schemaNote struct {
	Tool string `json:"tool"`
	// Input and Output say why the schema of arguments or of results can't be used, so that nothing is checked.
	Input   string   `json:"input,omitempty"`
	Output  string   `json:"output,omitempty"`
	Repairs []string `json:"repairs,omitempty"` // what is changed because a model API would refuse the tool
}

func (a *app) deepHealthOf(x examiner, c config.Server, s usher.ServerStatus, tools []usher.Tool) serverHealth {
	h := x.health(c, s)
	if h.State == "up" {
		h.Stderr = tailOf(s.Stderr)
	}
	d := &depth{Chosen: chosen(c, s), Near: c.Transport != config.TransportStdio && isHere(c)}
	d.answers = branch(h.Transport, d.Near)
	d.Decision = decision(d.answers)
	if h.State == "down" && c.Transport == config.TransportStdio {
		d.CommandLine = commandLine(c, x.redact)
	}
	d.ServerInfo, d.Capabilities = s.ServerInfo, s.Capabilities
	d.Steps, d.Dropped, d.Schemas = []stepTaken{}, []droppedTool{}, []schemaNote{}
	for _, text := range next(h, s) {
		d.Next = append(d.Next, a.hint(text))
	}
	for _, step := range s.Steps {
		d.Steps = append(d.Steps, stepTaken{step.What, float64(step.Took.Round(10*time.Microsecond)) / float64(time.Millisecond), step.Result})
	}
	for _, t := range s.Dropped {
		d.Dropped = append(d.Dropped, droppedTool(t))
	}
	for _, t := range tools {
		if t.Server != c.Name {
			continue
		}
		if note, odd := schemasOf(t); odd {
			note.redact(x.redact)
			d.Schemas = append(d.Schemas, note)
		}
	}
	h.Depth = d
	return h
}

// redact takes out secrets: all that a schema says is the server's word.
func (n *schemaNote) redact(redact func([]byte) []byte) {
	clean := func(s *string) { *s = string(redact([]byte(*s))) }
	clean(&n.Input)
	clean(&n.Output)
	n.Repairs = slices.Clone(n.Repairs)
	for i := range n.Repairs {
		clean(&n.Repairs[i])
	}
}

// schemasOf looks at the schemas of a tool; odd says that there is something to tell.
func schemasOf(t usher.Tool) (note schemaNote, odd bool) {
	note.Tool = t.Name
	in, out := mcp.Member(t.Definition, "inputSchema"), mcp.Member(t.Definition, "outputSchema")
	if err := jsonschema.Lazy(in).Err(); err != nil {
		note.Input = err.Error()
	}
	if out != nil {
		if err := jsonschema.Lazy(out).Err(); err != nil {
			note.Output = err.Error()
		}
	}
	if r := repair.Repair(in); r.Refused {
		note.Repairs = r.Changes
	}
	return note, note.Input != "" || note.Output != "" || len(note.Repairs) > 0
}

// next is what to do now; in it self stands for usher.
func next(h serverHealth, s usher.ServerStatus) []string {
	switch {
	case h.State == "disabled":
		return []string{"To use it, run: " + self + " servers enable " + shellWord(h.Name)}
	case h.State == "up":
		return []string{"To see its tools, run: " + self + " tools --server " + shellWord(h.Name)}
	case len(h.Hints) > 0:
		return []string{"Then check it again: " + self + " doctor " + shellWord(h.Name)}
	}
	return remedy(h, fault.Of(s.Err).Kind)
}

// remedy is for a server that is down, by the kind of its failure.
func remedy(h serverHealth, kind fault.Kind) []string {
	var all []string
	switch {
	case kind == fault.Auth:
		all = append(all, `It wants other credentials: "bearerToken": "${NAME_OF_A_VARIABLE}", or "headers", in its entry`)
	case kind == fault.Timeout:
		all = append(all, `If it is only slow, give it more time in its entry: "startTimeout": "2m"`)
		if h.Transport == config.TransportStdio {
			all = append(all, "Else try its command by itself: it should answer on its standard output")
		}
	case strings.Contains(h.Error, "command not found"): // it has said what to do
	case h.Transport == config.TransportStdio:
		all = append(all, "Try its command by itself: it should wait for input, and say nothing on its standard output")
	case kind == fault.Unavailable:
		all = append(all, "Check that it runs, and that its address is right: "+h.Target)
	default:
		all = append(all, "Check that its address is that of an MCP server, path and all: "+h.Target)
	}
	return append(all, "Then check it again: "+self+" doctor "+shellWord(h.Name))
}

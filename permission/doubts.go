package permission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/usher-mcp/usher/internal/nearest"
)

// Doubts says, each in a sentence, what in the arguments of a rule of this effect's list probably isn't what its writer
// meant, for a tool that it names and that tool's inputSchema. It is for warnings; no decision depends on it.
func Doubts(r Rule, list Effect, inputSchema json.RawMessage) []string {
	p, err := readPattern(r.Pattern)
	switch {
	case err != nil && list == Allow:
		return []string{"it can't be read, and so it allows nothing: " + err.Error()}
	case err != nil:
		return []string{"it can't be read, and so it counts for every call: " + err.Error()}
	}
	known, all := parameters(inputSchema)
	var doubts []string
	for i := range p.args {
		a := &p.args[i]
		first, _, _ := strings.Cut(a.key, ".")
		switch {
		case strings.Contains(a.key, "*"):
			if list == Allow {
				doubts = append(doubts, fmt.Sprintf("an allow rule takes %q as it stands, and not as any argument", a.key))
			}
		case !all || slices.Contains(known, a.key) || slices.Contains(known, first):
		case list == Allow:
			doubts = append(doubts, fmt.Sprintf("the tool has no argument %q%s", a.key, meant(first, known)))
		default:
			doubts = append(doubts, fmt.Sprintf("the tool has no argument %q, and it may be deeper in another%s", a.key, meant(first, known)))
		}
		if list == Allow && a.pieces != nil && !a.any && slices.Contains(commands, a.path[len(a.path)-1]) {
			doubts = append(doubts, fmt.Sprintf("a wildcard in %q lets the caller choose the command's options, too", a.key))
		}
	}
	return doubts
}

// commands are names under which tools take what a shell runs.
var commands = []string{"command", "cmd", "script", "shell", "code", "args", "argv"}

func meant(name string, known []string) string {
	if best := nearest.Name(name, known); best != "" {
		return fmt.Sprintf(": did you mean %q?", best)
	}
	return ""
}

// parameters returns the names that a schema has, and whether it says of itself that it knows any.
func parameters(inputSchema json.RawMessage) (names []string, all bool) {
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if jsonv2.Unmarshal(inputSchema, &schema) != nil || len(schema.Properties) == 0 {
		return nil, false
	}
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, true
}

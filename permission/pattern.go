package permission

import (
	"errors"
	"fmt"
	"strings"
)

// pattern is what a Rule's Pattern says.
type pattern struct {
	name   string
	folded string // the name as the lists that forbid compare it, too
	args   []argument
}

// maxArguments bounds the arguments of one rule.
const maxArguments = 32

// readPattern returns the name even where the rest can't be read; "*" where the name itself can't.
func readPattern(s string) (pattern, error) {
	name, rest, hasArgs := strings.Cut(s, "(")
	p := pattern{name: strings.TrimRight(name, " ")}
	if !hasArgs {
		p.name = s
	}
	err := error(nil)
	switch {
	case p.name == "":
		p.name, err = "*", errors.New("it has no tool's name: write mcp.SERVER.TOOL in front")
	case hasArgs && !strings.HasSuffix(rest, ")"):
		err = errors.New("the ) at the end is missing")
	case hasArgs:
		p.args, err = readArguments(rest[:len(rest)-1])
	}
	p.folded = fold(p.name)
	return p, err
}

func readArguments(s string) ([]argument, error) {
	if strings.TrimSpace(s) == "*" {
		return nil, nil
	}
	var all []argument
	for _, part := range cutAtCommas(s) {
		key, value, ok := strings.Cut(part, ":")
		key, value = strings.TrimSpace(key), unescape(strings.TrimSpace(value))
		switch {
		case !ok:
			return nil, fmt.Errorf("%q has no colon: write NAME:VALUE, such as (path:/etc/**)", part)
		case key == "":
			return nil, fmt.Errorf("%q has no argument's name in front of the colon", part)
		case len(all) == maxArguments:
			return nil, fmt.Errorf("a rule has at most %d arguments", maxArguments)
		}
		all = append(all, newArgument(key, value))
	}
	return all, nil
}

// cutAtCommas cuts s at the commas that no backslash stands before.
func cutAtCommas(s string) []string {
	var parts []string
	from := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case ',':
			parts, from = append(parts, s[from:i]), i+1
		}
	}
	return append(parts, s[from:])
}

var escapes = strings.NewReplacer(`\\`, `\`, `\,`, `,`)

func unescape(s string) string { return escapes.Replace(s) }

// name is a tool as the lists that forbid compare it.
type name struct {
	Target
	model  string
	folded Target
	model2 string // folded
}

func asked(t Target, model string) name {
	return name{t, model, Target{fold(t.Server), fold(t.Tool)}, fold(model)}
}

func (p *pattern) forbids(n name) bool {
	return reaches(p.name, n.Target) || reaches(p.folded, n.folded) ||
		n.model != "" && (glob(p.name, n.model) || glob(p.folded, n.model2))
}

func (p *pattern) names(t Target) bool { return matches(p.name, t) }

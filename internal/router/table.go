package router

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/permission"
)

// Table is one state of all names. It is immutable.
type Table struct {
	tools  []*Tool            // local ones first, then by canonical name
	byName map[string][]*Tool // canonical names; two servers' pairs can join to one
	models map[string]*Tool
	bare   map[string][]*Tool // tools by their own name, local and servers' alike
}

func newTable(tools []*Tool) *Table {
	slices.SortFunc(tools, func(a, b *Tool) int {
		return cmp.Or(cmp.Compare(min(len(a.Server), 1), min(len(b.Server), 1)),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Server, b.Server))
	})
	t := &Table{
		tools:  tools,
		byName: make(map[string][]*Tool, len(tools)),
		models: make(map[string]*Tool, len(tools)),
		bare:   make(map[string][]*Tool, len(tools)),
	}
	bearers := make(map[string]int, len(tools))
	for _, tool := range tools {
		name, _ := modelName(tool.Target)
		bearers[name]++
	}
	for _, tool := range tools {
		name, fits := modelName(tool.Target)
		if !fits || bearers[name] > 1 {
			name = withHash(name, tool.Target, 4)
		}
		for n := 8; t.models[name] != nil; n += 4 { // a name that somebody made up to look like another's with its hash
			name = withHash(name, tool.Target, n)
		}
		tool.Model = name
		t.models[name] = tool
		t.byName[tool.Name] = append(t.byName[tool.Name], tool)
		t.bare[tool.Tool] = append(t.bare[tool.Tool], tool)
	}
	return t
}

// Tools returns all tools: local ones first, then the servers', sorted by canonical name. The slice must not be changed.
func (t *Table) Tools() []*Tool { return t.tools }

// Find returns the tool of a pair; nil if there is none.
func (t *Table) Find(target permission.Target) *Tool {
	for _, tool := range t.byName[target.Canonical()] {
		if tool.Target == target {
			return tool
		}
	}
	return nil
}

// Resolve finds the one tool that name means: a canonical name, a name for models, or the bare name of a local tool.
// Hidden tools, such as denied ones, make no name ambiguous, but their full names find them. It fails with *Ambiguous
// or *Unknown.
func (t *Table) Resolve(name string, hidden func(*Tool) bool) (*Tool, error) {
	if tool := t.models[name]; tool != nil {
		return tool, nil
	}
	switch found := t.byName[name]; len(found) {
	case 0:
	case 1:
		return found[0], nil
	default:
		return nil, &Ambiguous{Name: name, Candidates: models(found)}
	}
	return t.resolveBare(name, hidden)
}

func (t *Table) resolveBare(name string, hidden func(*Tool) bool) (*Tool, error) {
	var local *Tool
	var others []*Tool
	for _, tool := range t.bare[name] {
		switch {
		case hidden != nil && hidden(tool):
		case tool.Server == "":
			local = tool
		default:
			others = append(others, tool)
		}
	}
	switch {
	case local != nil && len(others) == 0:
		return local, nil
	case local != nil:
		return nil, &Ambiguous{Name: name, Candidates: append([]string{local.Name}, canonical(others)...)}
	}
	near := t.nearest(name, others, hidden)
	unknown := &Unknown{Name: name, Nearest: canonical(near)}
	if strings.Contains(name, "__") {
		unknown.spelled = models(near)
	}
	return nil, unknown
}

func canonical(tools []*Tool) []string {
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

func models(tools []*Tool) []string {
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Model)
	}
	return names
}

// Ambiguous says that a name could mean several tools, and which full names reach them.
type Ambiguous struct {
	Name       string
	Candidates []string
}

// Error tells the full names.
func (e *Ambiguous) Error() string {
	return fmt.Sprintf("%q could mean several tools; call one by its full name: %s", e.Name, strings.Join(e.Candidates, ", "))
}

// Unknown says that no tool has a name, and which names are near.
type Unknown struct {
	Name    string
	Nearest []string // canonical
	spelled []string // the nearest as they are for models, where that is how the caller writes them
}

// Error tells the nearest names, in the caller's spelling.
func (e *Unknown) Error() string {
	if len(e.Nearest) == 0 {
		return fmt.Sprintf("nothing is called %q", e.Name)
	}
	return fmt.Sprintf("nothing is called %q; did you mean %s?", e.Name, strings.Join(or(e.spelled, e.Nearest), ", "))
}

func or(first, second []string) []string {
	if len(first) > 0 {
		return first
	}
	return second
}

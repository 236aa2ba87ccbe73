package router

import (
	"slices"
	"strings"

	near "github.com/usher-mcp/usher/internal/nearest"
)

const (
	maxNearest  = 3
	maxCompared = 10_000 // tools looked at, so that a flood of wrong names stays cheap
)

// nearest returns tools with names close to a wrong one: first those whose bare name it is, then by edit distance.
func (t *Table) nearest(name string, same []*Tool, hidden func(*Tool) bool) []*Tool {
	if len(same) > 0 {
		return same[:min(len(same), maxNearest)]
	}
	type scored struct {
		tool     *Tool
		distance int
	}
	var best []scored
	lower := strings.ToLower(name)
	for _, tool := range t.tools[:min(len(t.tools), maxCompared)] {
		if hidden != nil && hidden(tool) {
			continue
		}
		d := min(near.Distance(lower, strings.ToLower(tool.Name)), near.Distance(lower, strings.ToLower(tool.Tool)),
			near.Distance(lower, strings.ToLower(tool.Model)))
		if d <= max(2, len(name)/3) {
			best = append(best, scored{tool, d})
		}
	}
	slices.SortStableFunc(best, func(a, b scored) int { return a.distance - b.distance })
	var tools []*Tool
	for _, s := range best[:min(len(best), maxNearest)] {
		tools = append(tools, s.tool)
	}
	return tools
}

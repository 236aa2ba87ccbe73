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

// nearest returns full names close to a wrong one: first those whose bare name it is, then by edit distance.
func (t *Table) nearest(name string, same []string, hidden func(*Tool) bool) []string {
	if len(same) > 0 {
		return same[:min(len(same), maxNearest)]
	}
	type scored struct {
		name     string
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
			best = append(best, scored{tool.Name, d})
		}
	}
	slices.SortStableFunc(best, func(a, b scored) int { return a.distance - b.distance })
	var names []string
	for _, s := range best[:min(len(best), maxNearest)] {
		names = append(names, s.name)
	}
	return names
}

package router

import (
	"slices"
	"strings"
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
		d := min(distance(lower, strings.ToLower(tool.Name)), distance(lower, strings.ToLower(tool.Tool)),
			distance(lower, strings.ToLower(tool.Model)))
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

// distance is the Levenshtein distance in bytes; a bound from the lengths alone stands in where it says enough.
func distance(a, b string) int {
	if d := len(a) - len(b); d > len(a)/3+2 || -d > len(a)/3+2 {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

package schema

import (
	"slices"
	"strings"

	near "github.com/usher-mcp/usher/internal/nearest"
)

// nearest returns the candidate that a person most likely meant by name, "" if none is near. Upper and lower case,
// "_" and "-" don't count; a distance of a third of the name's letters does.
func nearest(name string, candidates []string) string {
	const longest = 64
	best, bestDistance := "", 1<<30
	want := fold(name)
	if len(want) > longest {
		return ""
	}
	for _, c := range candidates {
		if c == name || len(c) > 2*longest {
			continue
		}
		d := near.Distance(want, fold(c))
		if d <= max(len(want), len(fold(c)))/3 && d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

func fold(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}

func slicesOf(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for key := range m {
		names = append(names, key)
	}
	slices.Sort(names)
	return names
}

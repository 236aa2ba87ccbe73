package schema

import (
	"slices"
	"strings"
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
		d := distance(want, fold(c))
		if d <= max(len(want), len(fold(c)))/3 && d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

func fold(s string) []rune {
	return []rune(strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)))
}

// distance counts insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
func distance(a, b []rune) int {
	older, old := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			same := 1
			if a[i] == b[j] {
				same = 0
			}
			row[j+1] = min(old[j]+same, old[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], older[j-1]+1)
			}
		}
		older, old = old, row
	}
	return old[len(b)]
}

func slicesOf(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for key := range m {
		names = append(names, key)
	}
	slices.Sort(names)
	return names
}

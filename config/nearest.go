package config

import "strings"

// nearest returns the known name that name most likely stands for, or "".
func nearest(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	without := strings.NewReplacer("_", "", "-", "")
	name = strings.ToLower(without.Replace(name))
	best, least := "", 3
	for _, k := range known {
		d := distance(name, strings.ToLower(k))
		if d < least && d*2 < len(k) {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of bytes to insert, delete, change or swap with the
// next one that make a into b.
func distance(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

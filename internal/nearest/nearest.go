// Package nearest finds the known word that a mistyped one most likely stands for. It knows no grammar and no meaning.
package nearest

import "strings"

// Name returns the known name nearest to name, whatever the case, or "" if none is near: at most a third of its letters
// may be wrong, and two in a short one. Names of more than 256 bytes have none.
func Name(name string, known []string) string {
	if len(name) > 256 {
		return ""
	}
	name = strings.ToLower(name)
	best, least := "", max(2, len(name)/3)+1
	for _, k := range known {
		if d := Distance(name, strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// Distance is the number of bytes to insert, delete, change or swap with the next one that make a into b. It takes time
// in proportion to the product of their lengths, or none where the lengths alone tell that they are far apart.
func Distance(a, b string) int {
	if d := len(a) - len(b); d > len(a)/2+3 || -d > len(a)/2+3 {
		return max(len(a), len(b))
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
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
		before, row, next = row, next, before
	}
	return row[len(b)]
}

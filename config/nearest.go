package config

import (
	"strings"

	near "github.com/usher-mcp/usher/internal/nearest"
)

// nearest returns the known name that name most likely stands for, or "".
func nearest(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	without := strings.NewReplacer("_", "", "-", "")
	name = strings.ToLower(without.Replace(name))
	best, least := "", 3
	for _, k := range known {
		d := near.Distance(name, strings.ToLower(k))
		if d < least && d*2 < len(k) {
			best, least = k, d
		}
	}
	return best
}

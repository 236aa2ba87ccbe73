package permission

import (
	"strings"
	"unicode"
)

// isClean reports whether s has nothing that a server could read as another place than it looks like: no character that
// doesn't show, no element that is empty or only dots, no slash or dot that is hidden by percent.
func isClean(s string) bool {
	if hasHidden(s) || hasHiddenPercent(s) {
		return false
	}
	if scheme, rest, ok := strings.Cut(s, "://"); ok && isScheme(scheme) {
		s = rest
	}
	for first := true; s != ""; first = false {
		end := strings.IndexAny(s, `/\`)
		if end < 0 {
			return strings.Trim(s, ". ") != ""
		}
		if strings.Trim(s[:end], ". ") == "" && !(first && end == 0) {
			return false
		}
		s = s[end+1:]
	}
	return true
}

func hasHidden(s string) bool {
	for i := range len(s) {
		switch b := s[i]; {
		case b < ' ' || b == 0x7f:
			return true
		case b >= 0x80:
			return strings.ContainsFunc(s[i:], isHidden)
		}
	}
	return false
}

func isHidden(r rune) bool {
	return r == unicode.ReplacementChar || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

func hasHiddenPercent(s string) bool {
	if !strings.Contains(s, "%") {
		return false
	}
	s = strings.ToLower(s)
	for _, hidden := range [...]string{"%2e", "%2f", "%5c", "%25", "%00"} {
		if strings.Contains(s, hidden) {
			return true
		}
	}
	return false
}

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
	begin, blank := 0, true // of the element, and whether it has only dots and spaces so far
	for i := range len(s) {
		switch s[i] {
		case '/', '\\':
			if blank && i > 0 {
				return false
			}
			begin, blank = i+1, true
		case '.', ' ':
		default:
			blank = false
		}
	}
	return begin == len(s) || !blank
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

package cli

import (
	"regexp"
	"strings"

	"github.com/usher-mcp/usher/internal/secret"
)

var (
	secretMember = regexp.MustCompile(`(?i)("?[a-z0-9_.-]*(?:key|token|secret|passw|pwd|auth|credential|cookie|dsn)[a-z0-9_.-]*"?\s*[:=]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,{}\[\]"'][^,}]*)`)
	secretArg    = regexp.MustCompile(`(?i)(["']--?[a-z0-9_-]*(?:key|token|secret|passw|pwd|auth|credential)[a-z0-9_-]*["'],\s*)("(?:[^"\\]|\\.)*"|'[^']*')`)
	secretWord   = regexp.MustCompile(`(?i)((?:bearer|basic)\s+|\b(?:sk|ghp|gho|xox[abp]|glpat)[-_])[A-Za-z0-9._~+/=-]{6,}`)
	endsInFlag   = regexp.MustCompile(`(?i)["' ]--?[a-z0-9_-]*(?:key|token|secret|passw|pwd|auth|credential)[a-z0-9_-]*["']?,?\s*$`)
	loneValue    = regexp.MustCompile(`^([+ -]\s*(?:- )?).*$`)
)

// masker hides what looks secret in the lines of a difference, one after the other.
type masker struct{ follows bool }

func (m *masker) line(l string) string {
	follows := m.follows
	m.follows = endsInFlag.MatchString(l)
	if follows && !strings.Contains(l, "$") {
		return loneValue.ReplaceAllString(l, `${1}"`+secret.Mask+`"`)
	}
	l = hideValues(secretMember, l)
	l = hideValues(secretArg, l)
	l = secretWord.ReplaceAllString(l, "${1}"+secret.Mask)
	return userInfo.ReplaceAllString(l, "://"+secret.Mask+"@")
}

// hideValues hides the second group of what matches, but for the name of a variable.
func hideValues(of *regexp.Regexp, l string) string {
	return of.ReplaceAllStringFunc(l, func(s string) string {
		m := of.FindStringSubmatch(s)
		if strings.Contains(m[2], "$") || m[2] == `""` {
			return s
		}
		return m[1] + `"` + secret.Mask + `"`
	})
}

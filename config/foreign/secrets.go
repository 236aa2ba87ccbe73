package foreign

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// secretName says whether the value under a name of a variable, header or flag should be taken for a secret.
func secretName(name string) bool {
	upper := strings.NewReplacer("AUTHORIZ", "AUTH", "AUTHOR", "", "KEYBOARD", "", "KEYWORD", "", "MONKEY", "", "TOKENIZER", "").
		Replace(strings.ToUpper(name))
	for _, part := range []string{
		"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "KEY", "AUTH", "CREDENTIAL", "CREDS", "COOKIE", "PRIVATE", "BEARER", "JWT",
	} {
		if strings.Contains(upper, part) {
			return true
		}
	}
	words := strings.FieldsFunc(upper, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains([]string{"PASS", "PAT", "PWD", "DSN", "SID"}, w) })
}

// harmless are values that no secret has, whatever their name: switches, small numbers, files, addresses without a
// password, and names of authentication schemes.
func harmless(s string) bool {
	switch strings.ToLower(s) {
	case "", "true", "false", "yes", "no", "on", "off", "none", "null", "basic", "bearer", "oauth", "oauth2", "default":
		return true
	}
	if smallNumber.MatchString(s) || filePath.MatchString(s) {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && len(secretSpans(s)) == 0
}

var (
	smallNumber = regexp.MustCompile(`^\d{1,5}$`)
	filePath    = regexp.MustCompile(`^(~|\.{1,2})?/[A-Za-z0-9._/@ -]*$`)

	// known are shapes that the makers of tokens gave them.
	known = regexp.MustCompile(`\b(?:sk-[A-Za-z0-9_-]{16,}|(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|` +
		`glpat-[A-Za-z0-9_-]{16,}|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|A(?:KI|SI)A[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|` +
		`npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,}|lin_api_[A-Za-z0-9]{20,}|ntn_[A-Za-z0-9]{20,}|secret_[A-Za-z0-9]{20,}|figd_[A-Za-z0-9_-]{20,}|dop_v1_[a-f0-9]{20,}|` +
		`pat-[A-Za-z0-9-]{20,}|ctx7sk-[A-Za-z0-9-]{16,}|tvly-[A-Za-z0-9-]{16,}|fc-[a-f0-9]{24,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]{8,})`)
	userinfo   = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@:]*:([^\s/?#@]+)@`)
	queryValue = regexp.MustCompile(`[?&;]([A-Za-z0-9_.-]+)=([^&;#\s]+)`)
	dsnValue   = regexp.MustCompile(`(?i)(?:^|[\s;])(?:password|pwd)\s*=\s*([^;\s]+)`)
	credential = regexp.MustCompile(`(?i)\b(?:bearer|basic|token|apikey)[ :=]+([A-Za-z0-9._~+/=-]{8,})`)
	uuid       = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	run        = regexp.MustCompile(`[A-Za-z0-9_]{20,}`)
	pair       = regexp.MustCompile(`^(--?)?([A-Za-z][A-Za-z0-9_.-]*)\s*[=:]\s*(.+)$`)
	secretFlag = regexp.MustCompile(`^--?[A-Za-z][A-Za-z0-9-]*$`)
)

// span is a part of a text.
type span struct{ from, to int }

// secretSpans finds what looks secret by its shape, wherever it stands: in order, and none in another.
func secretSpans(s string) []span {
	var all []span
	group := func(re *regexp.Regexp, n int, fits func(m []int) bool) {
		for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
			if fits == nil || fits(m) {
				all = append(all, span{m[2*n], m[2*n+1]})
			}
		}
	}
	group(known, 0, nil)
	group(userinfo, 1, nil)
	group(dsnValue, 1, nil)
	group(credential, 1, func(m []int) bool { return !strings.Contains(s[m[2]:m[3]], "://") })
	group(queryValue, 2, func(m []int) bool { return secretName(s[m[2]:m[3]]) && !smallNumber.MatchString(s[m[4]:m[5]]) })
	group(uuid, 0, nil)
	group(run, 0, func(m []int) bool { return random(s[m[0]:m[1]]) && !pinned(s, m[0]) })
	slices.SortFunc(all, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	return apart(all)
}

// apart joins spans that overlap.
func apart(sorted []span) (all []span) {
	for _, sp := range sorted {
		if n := len(all); n > 0 && sp.from < all[n-1].to {
			all[n-1].to = max(all[n-1].to, sp.to)
			continue
		}
		all = append(all, sp)
	}
	return all
}

// random reports whether a word looks like no person chose it: letters and digits that change places often.
func random(s string) bool {
	changes, digits := 0, 0
	for i := range len(s) {
		if isDigit(s[i]) {
			digits++
		}
		if i > 0 && class(s[i]) != class(s[i-1]) {
			changes++
		}
	}
	return digits >= 3 && changes >= 5
}

// pinned is what follows a digest's name, such as image@sha256:…, or the revision of a repository.
func pinned(s string, at int) bool {
	if strings.HasSuffix(s[:at], "@") && strings.HasPrefix(s, "git+") {
		return true
	}
	return strings.HasSuffix(s[:at], "sha256:") || strings.HasSuffix(s[:at], "sha512:")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func class(c byte) int {
	switch {
	case isDigit(c):
		return 0
	case 'a' <= c && c <= 'z':
		return 1
	case 'A' <= c && c <= 'Z':
		return 2
	}
	return 3
}

package permission

import "strings"

// glob matches s with a pattern in which `*` stands for any characters, in time linear in both for each star.
func glob(pattern, s string) bool {
	star := strings.IndexByte(pattern, '*')
	if star < 0 {
		return pattern == s
	}
	if !strings.HasPrefix(s, pattern[:star]) {
		return false
	}
	s, pattern = s[star:], pattern[star+1:]
	for {
		star = strings.IndexByte(pattern, '*')
		if star < 0 {
			return strings.HasSuffix(s, pattern)
		}
		i := strings.Index(s, pattern[:star])
		if i < 0 {
			return false
		}
		s, pattern = s[i+star:], pattern[star+1:]
	}
}

// piece is a part of an allow rule's value: text as it stands, or a star.
type piece struct {
	text string
	star *[256]bool // the bytes that the star may stand for; nil: it is text
}

// maxWild bounds what a wildcard of an allow rule looks at, in bytes: its time grows with the product of both lengths.
const maxWild = 8 << 10

// begins reports whether s begins with what stands before the first star.
func begins(pieces []piece, s string) bool { return strings.HasPrefix(s, pieces[0].text) }

// fits matches all of s.
func fits(pieces []piece, s string) bool {
	if len(s) > maxWild {
		return false
	}
	if len(pieces) == 2 && pieces[0].star == nil && pieces[1].star != nil {
		rest, ok := strings.CutPrefix(s, pieces[0].text)
		return ok && isAll(pieces[1].star, rest)
	}
	var short [2][256]bool
	at, next := short[0][:], short[1][:] // at[i]: the pieces so far can stand for s[:i]
	if len(s) >= len(at) {
		at, next = make([]bool, len(s)+1), make([]bool, len(s)+1)
	}
	at, next = at[:len(s)+1], next[:len(s)+1]
	at[0] = true
	for _, p := range pieces {
		clear(next)
		if p.star != nil {
			extend(p.star, s, at, next)
		} else {
			follow(p.text, s, at, next)
		}
		at, next = next, at
	}
	return at[len(s)]
}

func isAll(class *[256]bool, s string) bool {
	for i := range len(s) {
		if !class[s[i]] {
			return false
		}
	}
	return true
}

func follow(text, s string, at, next []bool) {
	for i := range at {
		if at[i] && strings.HasPrefix(s[i:], text) {
			next[i+len(text)] = true
		}
	}
}

func extend(star *[256]bool, s string, at, next []bool) {
	on := false
	for i := range at {
		on = on || at[i]
		next[i] = on
		on = on && i < len(s) && star[s[i]]
	}
}

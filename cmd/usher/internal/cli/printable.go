package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// line makes s fit for one line of a terminal: white space becomes spaces, and what could act on the terminal or hide
// (control characters, ANSI, direction marks, invisible characters, invalid UTF-8) is shown as an escape.
func line(s string) string {
	return strings.TrimSpace(escape(s, func(r rune) string {
		if unicode.IsSpace(r) {
			return " "
		}
		return visible(r)
	}))
}

// lines is line for text of several lines; tabs stay too. Joiners stay, which some scripts and emoji need.
func lines(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return escape(s, func(r rune) string {
		switch r {
		case '\n', '\t', '\u200c', '\u200d':
			return string(r)
		}
		return visible(r)
	})
}

// printableJSON shows JSON without loss: what lines would hide is a JSON escape instead.
func printableJSON(raw []byte) string {
	return escape(string(raw), func(r rune) string {
		switch {
		case r == '\n', r == '\t':
			return string(r)
		case r >= 0x10000:
			return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

func visible(r rune) string {
	if r > 0xff {
		return fmt.Sprintf(`\u{%x}`, r)
	}
	return fmt.Sprintf(`\x%02x`, r)
}

// escape replaces each character that can't simply be shown.
func escape(s string, replace func(rune) string) string {
	if !strings.ContainsFunc(s, hidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case hidden(r):
			b.WriteString(replace(r))
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// hidden tells characters that are not just seen.
func hidden(r rune) bool { return !unicode.IsGraphic(r) || fillers(r) }

// fillers are letters by Unicode's word that show nothing.
func fillers(r rune) bool { return r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' }

// firstLine is the first line of s that says something.
func firstLine(s string) string {
	for l := range strings.Lines(s) {
		if l = line(l); l != "" {
			return l
		}
	}
	return ""
}

// width is how many columns s takes in a terminal.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me), r == '\u200c', r == '\u200d':
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf && r != 0x303f, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1f64f, r >= 0x1f680 && r <= 0x1f6ff, r >= 0x1f900 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// cut shortens s to at most columns, with a mark; columns 0 means that there is no limit.
func cut(s string, columns int) string {
	if columns <= 0 || width(s) <= columns {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > columns-1 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// wrap breaks s, one line, at spaces: the first line has begun with used columns, the others are indented so far. A word
// that is too long stays whole, since it may be there to be copied. Columns 0 means that there is no limit.
func wrap(s string, used, indent, columns int) string {
	if columns <= 0 || used+width(s) <= columns {
		return s
	}
	var b strings.Builder
	at := used
	for i, word := range strings.Fields(s) {
		switch w := width(word); {
		case i == 0:
			at += w
		case at+1+w > columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent + w
		default:
			b.WriteByte(' ')
			at += 1 + w
		}
		b.WriteString(word)
	}
	return b.String()
}

func pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-width(s)))
}

// size is a number of bytes for people.
func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1_000_000)
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// shellWord quotes s where a shell would take it apart.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r == '.' || r == '_' || r == '-' || r == '/' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

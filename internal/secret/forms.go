package secret

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// shortEscapes are the escapes of RFC 8259 section 7 that have a letter.
var shortEscapes = strings.NewReplacer(
	`"`, `\"`, `\`, `\\`, "\b", `\b`, "\f", `\f`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// forms returns value and what the usual JSON encoders make of it, each once:
// the least escaping, with "/" escaped (PHP), with "<", ">", "&" and the line
// separators as \u (Go), and with everything outside ASCII as \u (Python).
func forms(value string) [][]byte {
	least := escapeRunes(shortEscapes.Replace(value), func(r rune) bool { return r < ' ' })
	html := escapeRunes(least, func(r rune) bool {
		return r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029'
	})
	ascii := escapeRunes(least, func(r rune) bool { return r >= utf8.RuneSelf || r == 0x7f })
	slash := strings.ReplaceAll(least, "/", `\/`)
	slashASCII := strings.ReplaceAll(ascii, "/", `\/`)
	texts := []string{value, least, html, ascii, slash, slashASCII}
	slices.Sort(texts)
	var out [][]byte
	for _, t := range slices.Compact(texts) {
		out = append(out, []byte(t))
	}
	return out
}

func escapeRunes(s string, escaped func(rune) bool) string {
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case !escaped(r):
			b.WriteString(s[i : i+size])
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

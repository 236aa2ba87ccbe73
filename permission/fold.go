package permission

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold makes one text of all that a file system or a server may take for the same: without case, in NFKC, without
// characters that show nothing.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return r
	}, s)
	s = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
	return dotless.Replace(s)
}

// dotless takes Turkish letters for the ones that they become in other cases.
var dotless = strings.NewReplacer("i\u0307", "i", "\u0131", "i")

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// forms appends all that the lists that forbid compare a value by.
func forms(all []string, s string, real func(string) string) []string {
	all = addForm(all, fold(s))
	if isBareName(s) {
		real = nil // see leaf.is
	}
	if isPlain(s) {
		return addReal(all, s, real)
	}
	text, _, _ := strings.Cut(s, "\x00") // where a C program stops reading
	all = addURL(addPath(all, text), text)
	for range maxDecoded {
		decoded := decode(text)
		if decoded == text {
			break
		}
		text, _, _ = strings.Cut(decoded, "\x00")
		all = addURL(addPath(all, text), text)
	}
	if n := number(s); n != "" {
		all = addForm(all, n)
	}
	return addReal(all, text, real)
}

// isPlain reports that s is no number and has no other form, without knowing all such texts.
func isPlain(s string) bool {
	last := byte('.')
	for i := range len(s) {
		b := s[i]
		switch {
		case b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_':
		case b >= '0' && b <= '9' || b == '-':
			if i == 0 {
				return false
			}
		case b == '/' && last != '/':
		case b == '.' && last != '/' && last != '.':
		default:
			return false
		}
		last = b
	}
	return s != "" && last != '.' && last != '/' && (s[0] != '/' || len(s) > 1)
}

// addReal adds where a path leads, as the kernel has it and as a server that takes `..` out first, and what that is from
// the working folder and from the home folder.
func addReal(all []string, s string, real func(string) string) []string {
	if real == nil || len(s) > maxPath {
		return all
	}
	s = strings.TrimSpace(s)
	if len(s) > len("file://") && strings.EqualFold(s[:len("file://")], "file://") {
		_, rest, _ := strings.Cut(s[len("file://"):], "/")
		s = "/" + rest
	}
	for i, place := range [...]string{s, path.Clean(s)} {
		if i > 0 && place == s {
			break
		}
		r := real(place)
		if r == "" {
			continue
		}
		all = addPath(all, r)
		for _, from := range [...]string{"~", "."} {
			if rest, ok := strings.CutPrefix(r, real(from)+"/"); ok && real(from) != "" {
				all = addForm(all, fold(path.Join(from, rest)))
			}
		}
	}
	return all
}

// isBareName reports that s could only be a file of the working folder.
func isBareName(s string) bool { return !strings.ContainsAny(s, `/\.~`) }

// maxPath bounds what is looked up as a path, in bytes.
const maxPath = 4096

func addPath(all []string, s string) []string {
	s = strings.TrimSpace(fold(s))
	all = addForm(all, s)
	if !strings.ContainsAny(s, `/\.`) {
		return all
	}
	s = strings.ReplaceAll(s, `\`, "/")
	if rest, ok := strings.CutPrefix(s, "file:"); ok {
		all = addForm(all, path.Clean(rest)) // file:/x, file:///x
		if host, ok := strings.CutPrefix(rest, "//"); ok && !strings.HasPrefix(host, "/") {
			_, rest, _ = strings.Cut(host, "/")
			all = addForm(all, path.Clean("/"+rest))
		}
	}
	s = path.Clean(s)
	all = addForm(all, s)
	all = addForm(all, strings.TrimRight(s, ". ")) // as Windows does
	if up := s; strings.HasPrefix(up, "../") {     // from a folder that isn't known: far enough up is the root
		for strings.HasPrefix(up, "../") {
			up = up[len("../"):]
		}
		all = addForm(all, "/"+up)
		all = addForm(all, up)
	}
	return all
}

func addForm(all []string, s string) []string {
	for _, known := range all {
		if known == s {
			return all
		}
	}
	return append(all, s)
}

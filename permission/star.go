package permission

import "strings"

// The bytes that a star of an allow rule may stand for. A shell begins another command, or reads and writes another
// file, by shellBytes; none of them may come from a wildcard. URLs have three of them.
const (
	shellBytes = ";|&<>`$"
	urlBytes   = ";&$"
)

var (
	element = but(shellBytes + `/\`)                    // `*`
	anyPath = but(shellBytes)                           // `**`
	host    = but(shellBytes + `/\?#@:`)                // either, in the host of a URL
	urlPart = but(without(shellBytes, urlBytes) + `/\`) // `*` behind the host
	urlPath = but(without(shellBytes, urlBytes))        // `**` behind the host
)

func but(not string) *[256]bool {
	var all [256]bool
	for b := range all {
		all[b] = !strings.Contains(not, string(rune(b))) || b >= 0x80
	}
	return &all
}

func without(s, not string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(not, r) {
			return -1
		}
		return r
	}, s)
}

// cutAtStars takes the value of an allow rule apart.
func cutAtStars(value string) []piece {
	var pieces []piece
	hostEnds := -1 // where the host of a URL ends in value; -1: value is no URL
	if scheme, rest, ok := strings.Cut(value, "://"); ok && isScheme(scheme) {
		hostEnds = len(value) - len(rest)
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			hostEnds += i
		} else {
			hostEnds = len(value)
		}
	}
	for at := 0; at < len(value); {
		star := strings.IndexByte(value[at:], '*')
		if star < 0 {
			return append(pieces, piece{text: value[at:]})
		}
		if star > 0 {
			pieces = append(pieces, piece{text: value[at : at+star]})
		}
		at += star
		double := strings.HasPrefix(value[at:], "**")
		pieces = append(pieces, piece{star: starClass(double, hostEnds >= 0, at < hostEnds)})
		at += len(value[at:]) - len(strings.TrimLeft(value[at:], "*"))
	}
	return pieces
}

func starClass(double, isURL, inHost bool) *[256]bool {
	switch {
	case inHost:
		return host
	case isURL && double:
		return urlPath
	case isURL:
		return urlPart
	case double:
		return anyPath
	}
	return element
}

package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Digest returns "sha256:" and the hash of a JSON value in a canonical form: members sorted by name, no white space,
// strings with the fewest escapes, numbers as they are written. It isn't RFC 8785, which would make 2^53 and 2^53+1
// one digest. The bytes must have passed Validate.
func Digest(raw []byte) string {
	sum := sha256.Sum256(appendCanonical(nil, raw))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func appendCanonical(b, raw []byte) []byte {
	raw = raw[skipSpace(raw, 0):]
	if len(raw) == 0 {
		return b
	}
	switch raw[0] {
	case '{':
		return appendObject(b, raw)
	case '[':
		b = append(b, '[')
		for e := range Elements(raw) {
			b = append(appendCanonical(b, e), ',')
		}
		return append(b, ']')
	case '"':
		return appendString(b, Text(raw))
	}
	return append(b, raw[:skipValue(raw, 0)]...)
}

func appendObject(b, raw []byte) []byte {
	type member struct {
		name  string
		value []byte
	}
	var members []member
	for key, value := range Members(raw) {
		members = append(members, member{Text(key), value})
	}
	slices.SortFunc(members, func(x, y member) int { return strings.Compare(x.name, y.name) })
	b = append(b, '{')
	for _, m := range members {
		b = append(appendString(b, m.name), ':')
		b = append(appendCanonical(b, m.value), ',')
	}
	return append(b, '}')
}

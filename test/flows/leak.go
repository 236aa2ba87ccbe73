package flows

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
)

const window = 8 // bytes of a secret that are a leak

// shapes are what any part of a secret of at least twice window bytes looks like that somebody tried to hide: as it is,
// backwards, in hex, and in base64 at each of its three alignments.
func shapes(secret string) [][]byte {
	var all [][]byte
	forward := []byte(secret)
	back := slices.Clone(forward)
	slices.Reverse(back)
	for _, whole := range [][]byte{forward, back} {
		for i := 0; i+window <= len(whole); i++ {
			part := whole[i : i+window]
			all = append(all, part, []byte(hex.EncodeToString(part)), bytes.ToUpper([]byte(hex.EncodeToString(part))))
		}
		for shift := range 3 {
			all = append(all, aligned(whole, shift)...)
		}
	}
	return all
}

// aligned are parts of the base64 of a secret that has shift bytes before it: only whole groups of three bytes are the same
// whatever stands around them.
func aligned(secret []byte, shift int) (all [][]byte) {
	from := (3 - shift) % 3
	for ; from+9 <= len(secret); from += 3 {
		part := secret[from : from+9]
		all = append(all, []byte(base64.StdEncoding.EncodeToString(part)), []byte(base64.URLEncoding.EncodeToString(part)))
	}
	return all
}

// leaks reports whether anything of the secret is in what reached a sink.
func leaks(reached []byte, shapes [][]byte) bool {
	return slices.ContainsFunc(shapes, func(s []byte) bool { return bytes.Contains(reached, s) })
}

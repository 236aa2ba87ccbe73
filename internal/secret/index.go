package secret

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// index finds patterns of at least MinLen bytes. A bitmap of their first two
// bytes lets most positions pass with one load; the rest are looked up by their
// first eight bytes. It is immutable.
type index struct {
	pairs  [1 << 16 / 64]uint64
	byHead map[uint64][]pattern // longest first
}

type pattern struct {
	text   []byte
	number int
}

func newIndex(numbers map[string]int) *index {
	ix := &index{byHead: make(map[uint64][]pattern)}
	for value, number := range numbers {
		for _, text := range forms(value) {
			pair := binary.LittleEndian.Uint16(text)
			ix.pairs[pair/64] |= 1 << (pair % 64)
			head := binary.LittleEndian.Uint64(text)
			ix.byHead[head] = append(ix.byHead[head], pattern{text, number})
		}
	}
	for _, list := range ix.byHead {
		// The number breaks ties: two values may share an escaped form.
		slices.SortFunc(list, func(a, b pattern) int {
			return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.number, b.number))
		})
	}
	return ix
}

// at returns the longest pattern that starts at i.
func (ix *index) at(b []byte, i int) (pattern, bool) {
	pair := binary.LittleEndian.Uint16(b[i:])
	if ix.pairs[pair/64]&(1<<(pair%64)) == 0 {
		return pattern{}, false
	}
	for _, p := range ix.byHead[binary.LittleEndian.Uint64(b[i:])] {
		if bytes.HasPrefix(b[i:], p.text) {
			return p, true
		}
	}
	return pattern{}, false
}

// next returns where the first pattern at or after from starts, or -1.
func (ix *index) next(b []byte, from int) int {
	for i := from; i+MinLen <= len(b); i++ {
		if _, ok := ix.at(b, i); ok {
			return i
		}
	}
	return -1
}

// extent returns the end of the run of overlapping patterns that starts at
// start, and the number of the longest of them.
func (ix *index) extent(b []byte, start int) (end, number int) {
	longest := 0
	end = start + 1
	for i := start; i < end && i+MinLen <= len(b); i++ {
		p, ok := ix.at(b, i)
		if !ok {
			continue
		}
		end = max(end, i+len(p.text))
		if len(p.text) > longest {
			longest, number = len(p.text), p.number
		}
	}
	return end, number
}

package secret

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// MinLen is the length in bytes from which Set redacts a value. A shorter one
// would hit too much that is no secret.
const MinLen = 8

// Set is the values that must not leave. It may be used by many goroutines at
// once; Redact never waits for Add. The zero value is empty and ready. A Set
// must not be copied after its first use.
type Set struct {
	mu      sync.Mutex
	numbers map[string]int
	index   atomic.Pointer[index]
}

// Add makes values known. A value shorter than MinLen is ignored, one that is
// known keeps its number. Add costs time in proportion to all that is known:
// give it many values at once.
func (s *Set) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.numbers)
	for _, v := range values {
		s.add(v)
		if strings.Contains(v, "\n") {
			for l := range strings.Lines(v) { // a key in PEM is often shown line by line
				s.add(strings.TrimSpace(l))
			}
		}
	}
	if len(s.numbers) > before {
		s.index.Store(newIndex(s.numbers))
	}
}

func (s *Set) add(v string) {
	if _, known := s.numbers[v]; known || len(v) < MinLen {
		return
	}
	if s.numbers == nil {
		s.numbers = make(map[string]int)
	}
	s.numbers[v] = len(s.numbers) + 1
}

// Redact returns b with every known value, raw or in one of its JSON-escaped
// forms, replaced by "[redacted:N]". N counts from 1 in the order of Add, is
// the same for one value as long as the Set lives, and tells nothing about the
// value (K2). Where values overlap, all bytes of all of them go, under the
// number of the longest.
//
// b is never changed. When nothing matches, b itself is returned and nothing is
// allocated. JSON stays valid where a value occurs inside one of its strings;
// a value that occurs as a bare number is replaced too, and that is no JSON any
// more.
func (s *Set) Redact(b []byte) []byte {
	ix := s.index.Load()
	if ix == nil {
		return b
	}
	var out []byte
	done := 0
	for at := ix.next(b, 0); at >= 0; {
		end, number := ix.extent(b, at)
		at, _ = escapeAt(b, done, at)
		_, end = escapeAt(b, at, end)
		out = append(out, b[done:at]...)
		out = append(out, "[redacted:"...)
		out = strconv.AppendInt(out, int64(number), 10)
		out = append(out, ']')
		done = end
		at = ix.next(b, end)
	}
	if done == 0 {
		return b
	}
	return append(out, b[done:]...)
}

// escapeAt returns the borders of the JSON escape that i is in the middle of, or
// i twice. Half an escape left behind would break the JSON string. In text that
// is no JSON it takes a few bytes too many.
func escapeAt(b []byte, floor, i int) (start, end int) {
	const longest = len(`\u0000`)
	for j := i - 1; j >= floor && j > i-longest; j-- {
		if b[j] != '\\' || backslashes(b, floor, j)%2 == 1 {
			continue
		}
		size := len(`\n`)
		if j+1 < len(b) && b[j+1] == 'u' {
			size = longest
		}
		if i < j+size {
			return j, min(j+size, len(b))
		}
	}
	return i, i
}

// backslashes counts those directly before j.
func backslashes(b []byte, floor, j int) int {
	n := 0
	for j-n > floor && b[j-n-1] == '\\' {
		n++
	}
	return n
}

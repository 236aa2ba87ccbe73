package sandbox

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// DefaultRing is how many bytes a zero [Ring] keeps.
const DefaultRing = 64 << 10

var _ io.Writer = (*Ring)(nil)

// Ring keeps the last bytes written to it, for a child's standard error. Its
// zero value keeps [DefaultRing] bytes. Memory is taken as it fills. All methods
// may be called concurrently.
type Ring struct {
	mu   sync.Mutex
	max  int
	buf  []byte
	next int  // once buf is full: where the oldest byte is and the next one goes
	lost byte // the byte before the oldest kept one; 0 when nothing was lost
}

// NewRing returns a ring of size bytes; DefaultRing if size isn't positive.
func NewRing(size int) *Ring {
	return &Ring{max: size}
}

// Write keeps p, in place of the oldest bytes. It never fails and never blocks
// for long.
func (r *Ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	if r.max <= 0 {
		r.max = DefaultRing
	}
	if room := r.max - len(r.buf); room > 0 {
		fill := min(room, len(p))
		r.buf = append(r.buf, p[:fill]...)
		p = p[fill:]
	}
	r.overwrite(p)
	return n, nil
}

// overwrite puts p into the full ring.
func (r *Ring) overwrite(p []byte) {
	if over := len(p) - r.max; over > 0 {
		// All that is kept goes, and so do the first bytes of p.
		r.lost = p[over-1]
		r.next = 0
		copy(r.buf, p[over:])
		return
	}
	if len(p) == 0 {
		return
	}
	r.lost = r.buf[(r.next+len(p)-1)%r.max]
	n := copy(r.buf[r.next:], p)
	copy(r.buf, p[n:])
	r.next = (r.next + len(p)) % r.max
}

// Tail returns at most the last n bytes. Where that would begin within a line,
// it begins at the next line instead, unless there is none. The result is valid
// UTF-8: other bytes have become question marks. It may hold control characters.
func (r *Ring) Tail(n int) string {
	kept, before := r.last(max(n, 0))
	if before != 0 && before != '\n' {
		kept = toLineStart(kept)
	}
	return strings.ToValidUTF8(string(kept), "?")
}

// last copies the last n bytes and tells which byte came before them, 0 if none.
func (r *Ring) last(n int) (kept []byte, before byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := len(r.buf)
	n = min(n, size)
	before = r.lost
	if n < size {
		before = r.buf[(r.next+size-n-1)%size]
	}
	kept = make([]byte, 0, n)
	for first := size - n; first < size; first = size - (n - len(kept)) {
		at := (r.next + first) % size
		kept = append(kept, r.buf[at:min(at+n-len(kept), size)]...)
	}
	return kept, before
}

// toLineStart drops the rest of a line that began earlier. If that is all there
// is, it only drops the rest of a split character.
func toLineStart(b []byte) []byte {
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i+1 < len(b) {
		return b[i+1:]
	}
	for i := 0; i < len(b) && i < utf8.UTFMax-1; i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}

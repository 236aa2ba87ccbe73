package index

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/usher-mcp/usher/event"
)

const (
	windowSize  = 256 << 10
	mostWindows = 8
)

// windows read lines of many files, most of them next to one another.
type windows struct {
	dir      string
	backward bool
	open     []*window // the one used last is the last
}

type window struct {
	name string
	f    *os.File
	buf  []byte
	at   int64 // of buf in the file
	size int64 // of the file
}

// line returns size bytes of a file, which must be a whole line. They are valid until the next call.
func (w *windows) line(name string, start int64, size int) ([]byte, error) {
	from := max(start-1, 0)
	b, err := w.bytes(name, from, start+int64(size)+1)
	if err != nil {
		return nil, err
	}
	skip := int(start - from)
	if start < 0 || size < 0 || skip > 0 && b[0] != '\n' || b[len(b)-1] != '\n' {
		return nil, fmt.Errorf("%w: %s has no line at %d", errDamaged, name, start)
	}
	return b[skip : len(b)-1], nil
}

func (w *windows) bytes(name string, from, end int64) ([]byte, error) {
	if end < from || end-from > event.MaxLine+2 {
		return nil, errDamaged
	}
	in, err := w.window(name)
	if err != nil {
		return nil, err
	}
	if from < in.at || end > in.at+int64(len(in.buf)) {
		first := from
		if w.backward {
			first = max(0, min(from, end-windowSize))
		}
		size := min(max(windowSize, end-first), in.size-first)
		if first+size < end {
			return nil, fmt.Errorf("%w: %s is shorter than %d", errDamaged, name, end)
		}
		if int64(cap(in.buf)) < size {
			in.buf = make([]byte, size)
		}
		in.buf, in.at = in.buf[:size], first
		if _, err := in.f.ReadAt(in.buf, first); err != nil {
			in.buf = in.buf[:0]
			return nil, err
		}
	}
	return in.buf[from-in.at : end-in.at], nil
}

func (w *windows) window(name string) (*window, error) {
	for i := len(w.open) - 1; i >= 0; i-- {
		if in := w.open[i]; in.name == name {
			copy(w.open[i:], w.open[i+1:])
			w.open[len(w.open)-1] = in
			return in, nil
		}
	}
	f, err := os.Open(filepath.Join(w.dir, name))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if len(w.open) == mostWindows {
		w.open[0].f.Close()
		w.open = append(w.open[:0], w.open[1:]...)
	}
	in := &window{name: name, f: f, size: info.Size()}
	w.open = append(w.open, in)
	return in, nil
}

func (w *windows) close() {
	for _, in := range w.open {
		in.f.Close()
	}
}

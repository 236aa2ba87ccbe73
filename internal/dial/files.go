package dial

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
)

const maxFile = 1 << 20

// file is one that an entry names, with the field that names it.
type file struct{ field, path string }

func (f file) bad(why string) error { return fmt.Errorf("%s: the file %s %s", f.field, f.path, why) }

// stamp is what a file looks like from outside. It is zero for one that can't be looked at.
type stamp struct {
	modified time.Time
	size     int64
}

// watched keeps what was made of some files, and makes it anew when get finds that one of them has changed. There is no
// timer: a change that nobody asks about isn't noticed.
type watched[T any] struct {
	files  []file
	parse  func([]file, [][]byte) (T, error)
	report func(error)

	mu    sync.Mutex
	seen  []stamp // of the last attempt; nil before the first
	have  bool
	value T
	err   error // of the last attempt
}

// get returns the newest content that was good. It fails only while there never was any.
func (w *watched[T]) get() (T, error) {
	w.mu.Lock()
	worse := w.refresh()
	value, err := w.value, w.err
	if w.have {
		err = nil
	}
	w.mu.Unlock()
	if worse != nil {
		w.report(fmt.Errorf("%w; what it was before stays in use", worse))
	}
	return value, err
}

// refresh needs w.mu. It returns an error if a good content was followed by a bad one just now.
//
// Stamps are taken before reading: a file that changes meanwhile is read again next time.
func (w *watched[T]) refresh() error {
	now := make([]stamp, len(w.files))
	for i, f := range w.files {
		if info, err := os.Stat(f.path); err == nil {
			now[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	if w.seen != nil && slices.Equal(now, w.seen) {
		return nil
	}
	w.seen = now
	value, err := w.read()
	w.err = err
	if err == nil {
		w.value, w.have = value, true
		return nil
	}
	if w.have {
		return err
	}
	return nil
}

func (w *watched[T]) read() (T, error) {
	contents := make([][]byte, len(w.files))
	for i, f := range w.files {
		var err error
		if contents[i], err = f.read(); err != nil {
			var none T
			return none, err
		}
	}
	return w.parse(w.files, contents)
}

func (f file) read() ([]byte, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, f.unreadable(err)
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait
		return nil, f.bad("isn't a regular file")
	}
	in, err := os.Open(f.path)
	if err != nil {
		return nil, f.unreadable(err)
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, f.unreadable(err)
	}
	if len(b) > maxFile {
		return nil, f.bad("is larger than 1 MiB")
	}
	return b, nil
}

func (f file) unreadable(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: can't read %s: %w", f.field, f.path, err)
}

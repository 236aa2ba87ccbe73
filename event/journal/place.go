package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/usher-mcp/usher/event"
)

// File is a file of the log as it was when Files looked.
type File struct {
	Name     string
	Process  string    // the same for all files of one process
	Rotation int       // from 0
	Began    time.Time // when the process started, by the name
	Size     int64
	Sealed   bool // finished: it doesn't change any more
	Info     fs.FileInfo
}

// Place lies between two lines of a file. Its zero value is the file's beginning.
type Place struct {
	Offset int64
	Line   int // how many lines are before it
}

// Line is a line of a file and where it lies.
type Line struct {
	Place
	Next  Place       // after it
	Bytes []byte      // without its newline, valid until the next line; nil for one that is too long or cut off
	Event event.Event // its Data is a part of Bytes
	Err   error       // why it is no event; it names file and line
}

// Files lists the log of dir by name. Their sizes are of one moment in this sense: what a file says of another one's
// session, as one does whose process closed what a killed one left, comes with all that this one has of it.
func Files(dir string) ([]File, error) {
	entries, err := settled(dir)
	if err != nil {
		return nil, fmt.Errorf("read the event log: %w", err)
	}
	files := make([]File, 0, len(entries))
	for _, e := range slices.Backward(entries) {
		info, err := os.Lstat(filepath.Join(dir, e.name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the event log: %w", err)
		}
		files = append(files, File{Name: e.name, Process: e.group, Rotation: e.rotation, Began: began([]entry{e}),
			Size: info.Size(), Sealed: info.Mode().Perm()&0o200 == 0, Info: info})
	}
	slices.Reverse(files)
	return files, nil
}

// Lines yields the lines of f between from, which must be the end of a line, and f.Size. An unfinished last one is left
// out, or an error where the file is sealed. A file that is gone has no lines. An error that ends the reading is yielded
// alone.
func Lines(dir string, f File, from Place) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in, err := os.Open(filepath.Join(dir, f.Name))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer in.Close()
		read := newLines(io.NewSectionReader(in, from.Offset, f.Size-from.Offset))
		read.offset, read.number = from.Offset, from.Line
		for {
			l := Line{Place: Place{read.offset, read.number}}
			b, err := read.next()
			switch {
			case errors.Is(err, io.EOF) && (read.torn == 0 || !f.Sealed):
				return
			case errors.Is(err, io.EOF):
				l.Err = errTorn
			case errors.Is(err, errTooLong):
				l.Err = err
			case err != nil:
				yield(Line{}, err)
				return
			default:
				l.Event, l.Err = event.ParseLine(b)
				l.Bytes = b[:len(b):len(b)]
			}
			l.Next = Place{read.offset, read.number}
			if l.Err != nil {
				l.Err = fmt.Errorf("%s:%d: %w", f.Name, read.number, l.Err)
			}
			if !yield(l, nil) || errors.Is(err, io.EOF) {
				return
			}
		}
	}
}

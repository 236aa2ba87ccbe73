package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
)

const (
	defaultListed = 1000
	maxListed     = 10_000
	maxDepth      = 100              // folders below each other
	maxTime       = 20 * time.Second // of one walk; what was found until then is shown
)

// errEnough ends a walk whose answer is full.
var errEnough = errors.New("enough")

type listArgs struct {
	Path      string `json:"path"`
	Pattern   string `json:"pattern"`
	Recursive bool   `json:"recursive"`
	Limit     *int   `json:"limit"`
}

type listOutput struct {
	Files     []string `json:"files"`
	Truncated bool     `json:"truncated"`
}

func (f *folder) list(ctx context.Context, a listArgs) (*output, error) {
	limit, err := within(a.Limit, defaultListed, maxListed)
	if err != nil {
		return nil, err
	}
	g, err := newGlob(a.Pattern)
	if err != nil {
		return nil, err
	}
	dir, err := f.local(a.Path)
	if err != nil {
		return nil, err
	}
	if info, err := f.stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder; read_file shows what is in a file", show(dir))
	}
	out, size := listOutput{Files: []string{}}, 0
	w := &walk{folder: f, deep: a.Recursive || g != nil && g.whole, visit: func(name, below string, e fs.DirEntry) error {
		if !g.match(below) {
			return nil
		}
		if size += len(name) + 2; len(out.Files) == limit || size > maxShown {
			return errEnough
		}
		if e.IsDir() {
			name += "/"
		}
		out.Files = append(out.Files, valid(name))
		return nil
	}}
	err = w.run(ctx, dir)
	out.Truncated = err != nil || w.more
	return shown(out, lines(out.Files), listNotes(out, err, w)...), w.failure(err)
}

func listNotes(out listOutput, err error, w *walk) []string {
	notes := []string{w.notes(err)}
	switch {
	case errors.Is(err, errEnough):
		notes = append(notes, fmt.Sprintf("[The first %d are shown; there are more. Narrow path or pattern, or raise limit.]", len(out.Files)))
	case len(out.Files) == 0:
		notes = append(notes, "[Nothing found.]")
	}
	return notes
}

func lines(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(plain(n))
	}
	return b.String()
}

// within returns the limit that a caller gave, or the default.
func within(limit *int, usual, most int) (int, error) {
	switch {
	case limit == nil:
		return usual, nil
	case *limit < 1 || *limit > most:
		return 0, fmt.Errorf(`wrong arguments: "limit" must be from 1 to %d`, most)
	}
	return *limit, nil
}

// walk visits what is in a folder in the order of the names, deep without .git and without following symbolic links.
type walk struct {
	*folder
	deep    bool
	visit   func(name, below string, e fs.DirEntry) error
	more    bool // something was left out because it is too much
	refused int  // folders that can't be read
}

// run ends early with the visitor's error, with that of ctx, or after maxTime.
func (w *walk) run(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	return w.dir(ctx, dir, "", 0)
}

func (w *walk) dir(ctx context.Context, dir, below string, depth int) error {
	list, more, err := w.entries(dir)
	if err != nil {
		if depth == 0 {
			return err
		}
		w.refused++
		return nil
	}
	w.more = w.more || more || depth > maxDepth
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		inner := path.Join(below, e.Name())
		name := path.Join(dir, e.Name())
		if w.deep && e.IsDir() && e.Name() == ".git" {
			continue
		}
		if err := w.visit(name, inner, e); err != nil {
			return err
		}
		if w.deep && e.IsDir() && depth <= maxDepth {
			if err := w.dir(ctx, name, inner, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// failure tells errors from the ways in which a walk ends early.
func (w *walk) failure(err error) error {
	if errors.Is(err, errEnough) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func (w *walk) notes(err error) string {
	var notes []string
	if errors.Is(err, context.DeadlineExceeded) {
		notes = append(notes, fmt.Sprintf("[Stopped after %v; narrow path or pattern.]", maxTime))
	}
	if w.more {
		notes = append(notes, "[A folder was too large or too deep to be seen whole.]")
	}
	if w.refused > 0 {
		notes = append(notes, fmt.Sprintf("[Folders that could not be read: %d.]", w.refused))
	}
	return strings.Join(notes, " ")
}

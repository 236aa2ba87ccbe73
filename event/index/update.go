package index

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/usher-mcp/usher/event/journal"
)

// What one transaction takes at most, so that readers and other fillers get their turn and a kill costs little.
const (
	mostRows  = 20_000
	mostBytes = 16 << 20
)

// state is a file as the index knows it.
type state struct {
	id, process          int64
	taken                journal.Place
	hash                 string // of the last line taken
	size, changed, inode int64  // of the file when it had been read to its end; size -1: it hasn't been
	sealed               bool
}

// update brings the index up to what the files have now. Several processes may do so at once. told hears how many bytes
// of how many are done.
func (b *base) update(ctx context.Context, dir string, told func(done, total int64)) error {
	files, err := journal.Files(dir)
	if err != nil {
		return &logError{err}
	}
	if err := b.forget(ctx, dir, files); err != nil {
		return err
	}
	var total, done int64
	for _, f := range files {
		total += f.Size
	}
	known, err := b.states(ctx, "")
	if err != nil {
		return err
	}
	for _, f := range files {
		if r, ok := known[f.Name]; ok && r.same(f) {
			done += f.Size
			continue
		}
		for more := true; more; {
			var at int64
			if err := ctx.Err(); err != nil {
				return err
			}
			if at, more, err = b.take(ctx, dir, f); err != nil {
				return err
			}
			told(done+at, total)
		}
		done += f.Size
	}
	return nil
}

func (r state) same(f journal.File) bool {
	return r.size == f.Size && r.changed == f.Info.ModTime().UnixNano() && r.inode == inode(f.Info) && r.sealed == f.Sealed
}

// states are those of the file called name; of all if it is empty.
func (b *base) states(ctx context.Context, name string) (map[string]state, error) {
	query, args := "SELECT name, id, process, taken, lines, hash, size, changed, inode, sealed FROM file", []any(nil)
	if name != "" {
		query, args = query+" WHERE name = ?", append(args, name)
	}
	rows, err := b.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := make(map[string]state)
	for rows.Next() {
		var r state
		err := rows.Scan(&name, &r.id, &r.process, &r.taken.Offset, &r.taken.Line, &r.hash, &r.size, &r.changed, &r.inode, &r.sealed)
		if err != nil {
			return nil, err
		}
		known[name] = r
	}
	return known, rows.Err()
}

// forget drops what is of files that are gone, and the names that only they had.
func (b *base) forget(ctx context.Context, dir string, files []journal.File) error {
	known, err := b.states(ctx, "")
	if err != nil {
		return err
	}
	for _, f := range files {
		delete(known, f.Name)
	}
	for name := range known {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			delete(known, name) // it is newer than our list
		}
	}
	if len(known) == 0 {
		return nil
	}
	ids := make([]int64, 0, len(known))
	for _, r := range known {
		ids = append(ids, r.id)
	}
	return b.within(ctx, "IMMEDIATE", func() error { return b.drop(ctx, "id IN ("+list(ids)+")") })
}

// take reads on in a file, in one transaction, and returns how far it has come.
func (b *base) take(ctx context.Context, dir string, f journal.File) (at int64, more bool, err error) {
	dropped := false
	err = b.within(ctx, "IMMEDIATE", func() (err error) {
		if err := b.fresh(ctx); err != nil {
			return err
		}
		var r state
		if r, dropped, err = b.state(ctx, dir, f); err != nil || dropped {
			return err
		}
		if r.taken.Offset > f.Size || r.same(f) {
			at = f.Size // somebody else was here
			return nil
		}
		w := &writing{base: b, ctx: ctx, state: r}
		if more, err = w.lines(dir, f); err != nil {
			return err
		}
		at = w.taken.Offset
		return w.finish(f, more)
	})
	if err == nil && dropped {
		err = errChanged
	}
	return at, more, err
}

// errChanged says that files must be read again, from the first of a process on.
var errChanged = errors.New("files of the log are no more what they were")

// state finds how far a file was taken, or makes its row. If the file isn't any more what was read of it, or came back
// after later ones had been read, all is dropped from its process on.
func (b *base) state(ctx context.Context, dir string, f journal.File) (r state, dropped bool, err error) {
	known, err := b.states(ctx, f.Name)
	if err != nil {
		return r, false, err
	}
	old, ok := known[f.Name]
	if ok && (old.same(f) || continues(dir, f, old)) {
		return old, false, nil
	}
	later, err := b.later(ctx, f)
	if err != nil {
		return r, false, err
	}
	if ok || later {
		return r, true, b.dropFrom(ctx, f.Process)
	}
	err = b.conn.QueryRowContext(ctx, "INSERT INTO process (name, at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET name = name RETURNING id",
		f.Process, f.Began.UnixMicro()).Scan(&r.process)
	if err != nil {
		return r, false, err
	}
	r.id = r.process*10_000 + int64(f.Rotation)
	_, err = b.conn.ExecContext(ctx, "INSERT INTO file VALUES (?, ?, ?, 0, 0, '', -1, 0, 0, 0)", r.id, r.process, f.Name)
	return r, false, err
}

// continues reports whether a file still begins with what was read of it.
func continues(dir string, f journal.File, r state) bool {
	info, err := os.Lstat(filepath.Join(dir, f.Name))
	if err != nil || inode(info) != r.inode && r.inode != 0 || info.Size() < r.taken.Offset {
		return err != nil
	}
	if r.size == f.Size && r.changed != f.Info.ModTime().UnixNano() {
		return false // changed in its place
	}
	return endsWith(filepath.Join(dir, f.Name), r.taken.Offset, r.hash)
}

// endsWith reports whether what lies before offset in a file ends with a line of this hash.
func endsWith(name string, offset int64, hash string) bool {
	if hash == "" {
		return true
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	want := hash + "\"}\n"
	got := make([]byte, len(want))
	_, err = f.ReadAt(got, offset-int64(len(got)))
	return err == nil && string(got) == want
}

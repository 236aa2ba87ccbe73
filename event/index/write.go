package index

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"strings"
	"time"

	"github.com/usher-mcp/usher/event/journal"
)

// writing is a file while its lines are taken, in one transaction.
type writing struct {
	*base
	ctx context.Context
	state
	clock
	values      []any
	early, late int64
}

const (
	columns  = 10
	together = 50 // rows in one statement
)

func insertRows(n int) string {
	one := "(" + strings.TrimSuffix(strings.Repeat("?,", columns), ",") + ")"
	return "INSERT INTO event VALUES " + strings.TrimSuffix(strings.Repeat(one+",", n), ",")
}

// lines takes lines until there is no more, or enough for one transaction.
func (w *writing) lines(dir string, f journal.File) (more bool, err error) {
	var at int64
	if err := w.conn.QueryRowContext(w.ctx, "SELECT at FROM process WHERE id = ?", w.process).Scan(&at); err != nil {
		return false, err
	}
	w.at = time.UnixMicro(at)
	rows, start := 0, w.taken.Offset
	for l, err := range journal.Lines(dir, f, w.taken) {
		if err != nil {
			return false, &logError{err}
		}
		if err := w.line(l); err != nil {
			return false, err
		}
		if rows++; rows >= mostRows || w.taken.Offset-start >= mostBytes {
			return true, w.flush()
		}
	}
	return false, w.flush()
}

func (w *writing) line(l journal.Line) error {
	at := w.place(l).UnixMicro()
	w.taken, w.hash = l.Next, l.Event.Hash
	if l.Err != nil {
		_, err := w.conn.ExecContext(w.ctx, "INSERT INTO bad VALUES (?, ?, ?)", w.id, l.Line, l.Err.Error())
		return err
	}
	off := l.Event.Time.UnixMicro() - at
	w.early, w.late = max(w.early, off), max(w.late, -off)
	a := aboutOf(l.Event)
	session, isNew, err := w.word(w.ctx, wordSession, l.Event.Session)
	if err == nil && startsHost(l.Event) {
		_, err = w.conn.ExecContext(w.ctx, "UPDATE word SET host = 1 WHERE id = ?", session)
	}
	if err != nil {
		return err
	}
	ids := [3]int64{}
	for i, text := range [...]string{l.Event.Type, a.server, a.tool} {
		if ids[i], _, err = w.word(w.ctx, wordType+i, text); err != nil {
			return err
		}
	}
	call := digest(a.call)
	if ids[2], err = w.toolOf(callRow{session, call}, ids[2], isNew); err != nil {
		return err
	}
	w.values = append(w.values, at, w.id, l.Offset, len(l.Bytes), off, session, ids[0], ids[1], ids[2], call)
	if len(w.values) == columns*together {
		return w.flush()
	}
	return nil
}

// toolOf is the tool of a call: the one that its event names, else the one that an earlier event did.
func (w *writing) toolOf(call callRow, tool int64, first bool) (int64, error) {
	switch known, ok := w.words.calls[call]; {
	case call.call == 0:
		return tool, nil
	case tool == 0 && ok:
		return known, nil
	case tool == 0 && !first:
		if err := w.flush(); err != nil {
			return 0, err
		}
		err := w.conn.QueryRowContext(w.ctx, "SELECT tool FROM event WHERE call = ? AND session = ? AND tool > 0 ORDER BY at DESC, file DESC, start DESC LIMIT 1",
			call.call, call.session).Scan(&tool)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
	}
	if len(w.words.calls) >= mostCalls {
		clear(w.words.calls)
	}
	w.words.calls[call] = tool
	return tool, nil
}

func (w *writing) flush() error {
	if len(w.values) == 0 {
		return nil
	}
	query := w.words.insert
	if len(w.values) != columns*together {
		_, err := w.conn.ExecContext(w.ctx, insertRows(len(w.values)/columns), w.values...)
		w.values = w.values[:0]
		return err
	}
	if query == nil {
		var err error
		if query, err = w.conn.PrepareContext(w.ctx, insertRows(together)); err != nil {
			return err
		}
		w.words.insert = query
	}
	_, err := query.ExecContext(w.ctx, w.values...)
	w.values = w.values[:0]
	return err
}

// finish notes how far the file was taken.
func (w *writing) finish(f journal.File, more bool) error {
	size := f.Size
	if more {
		size = -1
	}
	_, err := w.conn.ExecContext(w.ctx, "UPDATE file SET taken = ?, lines = ?, hash = ?, size = ?, changed = ?, inode = ?, sealed = ? WHERE id = ?",
		w.taken.Offset, w.taken.Line, w.hash, size, f.Info.ModTime().UnixNano(), inode(f.Info), f.Sealed, w.id)
	if err == nil {
		_, err = w.conn.ExecContext(w.ctx, "UPDATE process SET at = ? WHERE id = ?", w.at.UnixMicro(), w.process)
	}
	if err == nil {
		_, err = w.conn.ExecContext(w.ctx, "UPDATE drift SET early = max(early, ?), late = max(late, ?)", w.early, w.late)
	}
	return err
}

// digest is a call's id in a column. Two ids may have one, so what is found by it is compared.
func digest(call string) int64 {
	if call == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(call))
	return int64(h.Sum64()) | 1
}

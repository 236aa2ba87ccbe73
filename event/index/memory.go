package index

import (
	"context"
	"errors"
	"io/fs"

	"github.com/usher-mcp/usher/event/journal"
)

// remember sees to it that memory is what it takes to go on after at.
func (l *Log) remember(ctx context.Context) (err error) {
	if l.at == nil {
		l.at, l.memory = make(places), newMemory()
	}
	if l.memory != nil {
		return nil
	}
	if l.base != nil {
		if l.memory, err = l.base.memory(ctx); err == nil {
			return nil
		}
	}
	return l.readUpTo(ctx)
}

// readUpTo learns from the journal what there is to know before at.
func (l *Log) readUpTo(ctx context.Context) error {
	l.memory = newMemory()
	files, err := journal.Files(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for i := range files {
		files[i].Size = min(files[i].Size, l.at[files[i].Name].Offset)
	}
	for line, e := range merged(l.dir, files, make(places)) {
		if err = errors.Join(e, ctx.Err()); err != nil {
			break
		}
		l.memory.learn(line.Event)
	}
	if ctx.Err() != nil {
		return nil // it isn't followed any more
	}
	return err
}

// lately is how many of the last events may have a call in flight.
const lately = 50_000

// memory is what a reader that goes on after the index must know of what was before.
func (b *base) memory(ctx context.Context) (*memory, error) {
	m := newMemory()
	var err error
	if m.servers, err = b.names(ctx, wordServer); err != nil {
		return nil, err
	}
	_, err = b.matching(ctx, wordSession, func(text string, host bool) bool {
		if host {
			m.hosts[text] = true
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	rows, err := b.conn.QueryContext(ctx, `SELECT s.text, e.call, t.text
		FROM (SELECT * FROM event ORDER BY at DESC, file DESC, start DESC LIMIT ?) e
		JOIN word s ON s.id = e.session JOIN word t ON t.id = e.tool
		WHERE +e.call <> 0 AND +e.tool > 0 ORDER BY e.at DESC, e.file DESC, e.start DESC`, lately)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var of callOf
		var tool string
		if err := rows.Scan(&of.session, &of.call, &tool); err != nil {
			return nil, err
		}
		if _, ok := m.calls[of]; !ok {
			m.calls[of] = tool
		}
	}
	return m, rows.Err()
}

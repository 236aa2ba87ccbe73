package index

import (
	"context"
	"database/sql"
	"errors"
)

// words are the numbers that names have in the index. What is kept here holds while nobody else writes: see fresh.
type words struct {
	ids     [4]map[string]int64
	calls   map[callRow]int64 // tools of calls
	version int64             // of the data that this is of
	insert  *sql.Stmt
}

// callRow is a call as its rows have it.
type callRow struct{ session, call int64 }

func (w *words) reset() {
	for i := range w.ids {
		w.ids[i] = make(map[string]int64)
	}
	w.calls = make(map[callRow]int64)
}

// fresh forgets what may be old, since somebody else has written. Call it within a transaction.
func (b *base) fresh(ctx context.Context) error {
	var now int64
	if err := b.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now); err != nil {
		return err
	}
	if now != b.words.version {
		b.words.reset()
		b.words.version = now
	}
	return nil
}

// word returns the number of a name, a new one if it has none; 0 for none.
func (b *base) word(ctx context.Context, kind int, text string) (id int64, isNew bool, err error) {
	if text == "" {
		return 0, false, nil
	}
	if id, ok := b.words.ids[kind][text]; ok {
		return id, false, nil
	}
	err = b.conn.QueryRowContext(ctx, "SELECT id FROM word WHERE kind = ? AND text = ?", kind, text).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		isNew = true
		err = b.conn.QueryRowContext(ctx, "INSERT INTO word (kind, text) VALUES (?, ?) RETURNING id", kind, text).Scan(&id)
	}
	if len(b.words.ids[kind]) >= mostCalls {
		clear(b.words.ids[kind])
	}
	b.words.ids[kind][text] = id
	return id, isNew, err
}

// matching are the numbers of the names of a kind that ok chooses.
func (b *base) matching(ctx context.Context, kind int, ok func(text string, host bool) bool) (ids []int64, err error) {
	rows, err := b.conn.QueryContext(ctx, "SELECT id, text, host FROM word WHERE kind = ?", kind)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var text string
		var host bool
		if err := rows.Scan(&id, &text, &host); err != nil {
			return nil, err
		}
		if ok(text, host) {
			ids = append(ids, id)
		}
	}
	return ids, rows.Err()
}

// names are all of a kind.
func (b *base) names(ctx context.Context, kind int) (names []string, err error) {
	_, err = b.matching(ctx, kind, func(text string, _ bool) bool { names = append(names, text); return false })
	return names, err
}

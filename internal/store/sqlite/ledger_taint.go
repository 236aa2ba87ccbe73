package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Taint is what something took in, that outlives the session which did.
type Taint struct {
	Key     string // a server or a client; the caller's to make
	Labels  []string
	Sources []string
	At      time.Time // when last
}

const (
	mostTaints  = 10_000
	mostSources = 100 // of one taint; which ones are left out matters to nobody but the reader of a question
)

// Taint adds t to what is known of its Key: labels and sources join those that are there, and the later time stays.
// Where there are too many keys it fails, rather than forget one: then t has to count in another way.
func (l *Ledger) Taint(ctx context.Context, t Taint) error {
	if err := short(append(append([]string{t.Key}, t.Labels...), t.Sources...)...); err != nil {
		return err
	}
	return l.write(ctx, func(tx *sql.Tx) error {
		was, found, err := taintOf(ctx, tx, t.Key)
		if err != nil {
			return err
		}
		if !found {
			var n int
			if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM taint`).Scan(&n); err != nil {
				return err
			}
			if n >= mostTaints {
				return refusal{fmt.Errorf("the ledger holds the taint of %d servers and clients, and takes no more", n)}
			}
		}
		labels, err := json.Marshal(union(was.Labels, t.Labels, 100))
		if err != nil {
			return refusal{err}
		}
		sources, err := json.Marshal(union(was.Sources, t.Sources, mostSources))
		if err != nil {
			return refusal{err}
		}
		at := t.At
		if was.At.After(at) {
			at = was.At
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO taint (key, labels, sources, at) VALUES (?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET labels = excluded.labels, sources = excluded.sources, at = excluded.at`, t.Key, string(labels), string(sources), at.UnixMilli())
		return err
	})
}

// Tainted returns what is known of a key; found is false where nothing is.
func (l *Ledger) Tainted(ctx context.Context, key string) (t Taint, found bool, err error) {
	err = l.read(ctx, func(tx *sql.Tx) (err error) {
		t, found, err = taintOf(ctx, tx, key)
		return err
	})
	return t, found && err == nil, err
}

// Untaint forgets the keys whose taint is older than before and that begin with prefix; an empty one is that of all.
func (l *Ledger) Untaint(ctx context.Context, prefix string, before time.Time) error {
	return l.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM taint WHERE substr(key, 1, length(?1)) = ?1 AND at < ?2`, prefix, before.UnixMilli())
		return err
	})
}

func taintOf(ctx context.Context, tx *sql.Tx, key string) (t Taint, found bool, err error) {
	var labels, sources string
	var at int64
	err = tx.QueryRowContext(ctx, `SELECT labels, sources, at FROM taint WHERE key = ?`, key).Scan(&labels, &sources, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return Taint{Key: key}, false, nil
	}
	if err != nil {
		return t, false, err
	}
	t = Taint{Key: key, At: time.UnixMilli(at).UTC()}
	if err := errors.Join(json.Unmarshal([]byte(labels), &t.Labels), json.Unmarshal([]byte(sources), &t.Sources)); err != nil {
		return t, false, refusal{fmt.Errorf("the taint of %q can't be read: %w", key, err)}
	}
	return t, true, nil
}

// union keeps the order, and at most n.
func union(a, b []string, n int) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) && len(out) < n {
			out = append(out, s)
		}
	}
	if out == nil {
		out = []string{}
	}
	return out
}

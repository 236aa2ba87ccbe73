package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Trust is a person's word that one entry of a project's file may run.
type Trust struct {
	Key    string // hash over folder, name and entry; the caller's to make
	Folder string
	Name   string
	By     string // who said so, and how
	At     time.Time
}

// maxText bounds each text of a row; what is longer is refused.
const maxText = 16 << 10

// mostTrusts bounds the rows; the oldest make room, and are asked about again.
const mostTrusts = 10_000

// Trust keeps t, in place of one with its Key.
func (l *Ledger) Trust(ctx context.Context, t Trust) error {
	if err := short(t.Key, t.Folder, t.Name, t.By); err != nil {
		return err
	}
	return l.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO trust (key, folder, name, by, at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET folder = excluded.folder, name = excluded.name, by = excluded.by, at = excluded.at`,
			t.Key, t.Folder, t.Name, t.By, t.At.UnixMilli()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM trust WHERE key <> ? AND key NOT IN (SELECT key FROM trust ORDER BY at DESC, rowid DESC LIMIT ?)`, t.Key, mostTrusts)
		return err
	})
}

// Trusted reports whether the entry with this key is trusted.
func (l *Ledger) Trusted(ctx context.Context, key string) (trusted bool, err error) {
	err = l.read(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM trust WHERE key = ?)`, key).Scan(&trusted)
	})
	return trusted && err == nil, err
}

// Distrust takes trust back, and reports whether there was any.
func (l *Ledger) Distrust(ctx context.Context, key string) (was bool, err error) {
	err = l.write(ctx, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, `DELETE FROM trust WHERE key = ?`, key)
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		was = n > 0
		return err
	})
	return was && err == nil, err
}

// Trusts returns all that is trusted, the oldest first.
func (l *Ledger) Trusts(ctx context.Context) (all []Trust, err error) {
	err = l.read(ctx, func(tx *sql.Tx) error {
		all = nil
		rows, err := tx.QueryContext(ctx, `SELECT key, folder, name, by, at FROM trust ORDER BY at, rowid`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var t Trust
			var at int64
			if err := rows.Scan(&t.Key, &t.Folder, &t.Name, &t.By, &at); err != nil {
				return err
			}
			t.At = time.UnixMilli(at).UTC()
			all = append(all, t)
		}
		return rows.Err()
	})
	return all, err
}

// short refuses texts that are too long to be what they should be.
func short(texts ...string) error {
	for _, text := range texts {
		if len(text) > maxText {
			return fmt.Errorf("a text of %d bytes is too long for the ledger; at most %d are kept", len(text), maxText)
		}
	}
	return nil
}

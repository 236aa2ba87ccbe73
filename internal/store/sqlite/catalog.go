package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"hash/crc32"
	"time"

	"github.com/usher-mcp/usher/internal/catalog"
)

const (
	keepUnused = 90 * 24 * time.Hour // records that weren't saved for so long are deleted
	keepMost   = 500                 // records; those that were saved last stay
	keepBytes  = 256 << 20           // of their data, likewise
)

// Catalog is the store of a catalog.Catalog.
type Catalog struct{ d *DB }

var _ catalog.Store = (*Catalog)(nil)

// Catalog returns the store for what servers offer. It ends with the DB.
func (d *DB) Catalog() *Catalog { return &Catalog{d: d} }

const load = `SELECT key, server, saved, sum, data FROM catalog WHERE key IN (SELECT value FROM json_each(?)) AND length(data) <= ?`

// Load is as catalog.Store says: one statement. A record whose bytes have changed on the disk isn't in the result.
func (c *Catalog) Load(ctx context.Context, keys []string) ([]catalog.Record, error) {
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	var out []catalog.Record
	err = c.d.run(ctx, func(db *sql.DB) (err error) {
		out, err = query(ctx, db, load, string(list), catalog.MaxRecord)
		return err
	})
	return out, err
}

func query(ctx context.Context, db *sql.DB, statement string, args ...any) ([]catalog.Record, error) {
	rows, err := db.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []catalog.Record
	for rows.Next() {
		var r catalog.Record
		var saved, sum int64
		if err := rows.Scan(&r.Key, &r.Server, &saved, &sum, &r.Data); err != nil {
			return out, err
		}
		if r.Saved = time.Unix(saved, 0); sum == sumOf(r.Data) {
			out = append(out, r)
		}
	}
	return out, rows.Err()
}

func sumOf(b []byte) int64 { return int64(crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))) }

const (
	save = `INSERT INTO catalog (key, server, saved, sum, data) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET server = excluded.server, saved = excluded.saved, sum = excluded.sum, data = excluded.data`
	// What is from the future was saved while the clock was wrong; it counts as saved now, so that it grows old again.
	settle = `UPDATE catalog SET saved = ?1 WHERE saved > ?1 + 86400`
	prune  = `DELETE FROM catalog WHERE saved < ? OR key IN (
		SELECT key FROM (SELECT key, row_number() OVER last AS nth, sum(length(data)) OVER last AS bytes FROM catalog WINDOW last AS (ORDER BY saved DESC, rowid DESC))
		WHERE nth > ? OR bytes > ?)`
)

// Save is as catalog.Store says. It deletes what hasn't been saved for 90 days, and all but the last 500 records or 256 MiB.
func (c *Catalog) Save(ctx context.Context, records ...catalog.Record) error {
	return c.d.run(ctx, func(db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // of nothing after a commit
		now := time.Now()
		if _, err := tx.ExecContext(ctx, settle, now.Unix()-1); err != nil {
			return err
		}
		for _, r := range records {
			if _, err := tx.ExecContext(ctx, save, r.Key, r.Server, r.Saved.Unix(), sumOf(r.Data), r.Data); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, prune, now.Add(-keepUnused).Unix(), keepMost, c.d.keepBytes); err != nil {
			return err
		}
		return tx.Commit()
	})
}

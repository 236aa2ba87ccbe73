package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/usher-mcp/usher/internal/flow"
)

// mostMarks bounds the rows; those whose time is the earliest make room.
const mostMarks = 100_000

// Taints returns the store for what servers were given and clients know. It ends with the Ledger.
func (l *Ledger) Taints() flow.Store { return marks{l} }

type marks struct{ l *Ledger }

var (
	_ flow.Store   = marks{}
	_ flow.Stamper = marks{}
)

// Stamp is as flow.Stamper says, for all processes that have the file open.
func (m marks) Stamp() uint64 { return m.l.stamp.read() }

// lostTime is how long after a damaged file was set aside everything may have been marked in it: as long as a client
// remembers where nobody says otherwise.
const lostTime = flow.DefaultInherit

// Load is as flow.Store says. For a while after a damaged file was set aside there is a mark of flow.Unknown with all labels.
func (m marks) Load(ctx context.Context, key string) (all []flow.Mark, err error) {
	err = m.l.read(ctx, func(tx *sql.Tx) error {
		all = nil
		rows, err := tx.QueryContext(ctx, `SELECT source, labels, at FROM mark WHERE key = ?`, key)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var one flow.Mark
			var at int64
			if err := rows.Scan(&one.Source, &one.Labels, &at); err != nil {
				return err
			}
			one.At = time.UnixMilli(at).UTC()
			all = append(all, one)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	lost, err := m.l.Lost()
	if err == nil && time.Since(lost) < lostTime {
		all = append(all, flow.Mark{Source: flow.Unknown, Labels: flow.Untrusted | flow.Private, At: lost})
	}
	return all, err
}

// Add is as flow.Store says.
func (m marks) Add(ctx context.Context, key string, add []flow.Mark) error {
	if len(key) > flow.MaxKey {
		return fmt.Errorf("the key of a mark has %d bytes, more than %d", len(key), flow.MaxKey)
	}
	err := m.l.write(ctx, func(tx *sql.Tx) error {
		for _, one := range add {
			if len(one.Source) > flow.MaxSource {
				return refusal{fmt.Errorf("the source of a mark has %d bytes, more than %d", len(one.Source), flow.MaxSource)}
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO mark (key, source, labels, at) VALUES (?, ?, ?, ?)
				ON CONFLICT (key, source) DO UPDATE SET labels = labels | excluded.labels, at = max(at, excluded.at)`,
				key, one.Source, uint8(one.Labels), one.At.UnixMilli()); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM mark WHERE (SELECT count(*) FROM mark) > ?1
			AND rowid IN (SELECT rowid FROM mark ORDER BY at LIMIT max(0, (SELECT count(*) FROM mark) - ?1))`, mostMarks)
		return err
	})
	m.l.stamp.turn() // also after a failure: nobody knows what of it is there
	return err
}

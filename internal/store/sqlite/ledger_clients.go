package sqlite

import (
	"context"
	"database/sql"
	"fmt"
)

// Client is a process that is connected to an usher.
type Client struct {
	PID   int
	Start uint64 // when it began, in the kernel's ticks since boot: a process id is used again
	Host  int    // the process id of the usher
	What  string // what it is, for a person
}

const mostClients = 1000

// AddClient says that c is connected. Where there are too many rows, those of which gone says that the process, or the
// usher, has ended make room; where none has, it fails, and c may not be served. gone runs outside of any lock.
func (l *Ledger) AddClient(ctx context.Context, c Client, gone func(Client) bool) error {
	if err := short(c.What); err != nil {
		return err
	}
	full, err := l.addClient(ctx, c)
	if err != nil || !full {
		return err
	}
	all, err := l.Clients(ctx)
	if err != nil {
		return err
	}
	for _, old := range all {
		if gone != nil && gone(old) {
			if err := l.RemoveClient(ctx, old); err != nil {
				return err
			}
		}
	}
	if full, err = l.addClient(ctx, c); err == nil && full {
		err = fmt.Errorf("%d clients are connected, and the ledger takes no more: close some", len(all))
	}
	return err
}

func (l *Ledger) addClient(ctx context.Context, c Client) (full bool, err error) {
	err = l.write(ctx, func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM client WHERE NOT (pid = ? AND start = ? AND host = ?)`, c.PID, int64(c.Start), c.Host).Scan(&n); err != nil {
			return err
		}
		if full = n >= mostClients; full {
			return nil
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO client (pid, start, host, what) VALUES (?, ?, ?, ?)
			ON CONFLICT (pid, start, host) DO UPDATE SET what = excluded.what`, c.PID, int64(c.Start), c.Host, c.What)
		return err
	})
	return full, err
}

// RemoveClient says that c isn't connected any more; its What is of no matter.
func (l *Ledger) RemoveClient(ctx context.Context, c Client) error {
	return l.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM client WHERE pid = ? AND start = ? AND host = ?`, c.PID, int64(c.Start), c.Host)
		return err
	})
}

// Clients returns all that are on record, also those of an usher that was killed: whether they still run is the caller's
// to find out.
func (l *Ledger) Clients(ctx context.Context) (all []Client, err error) {
	err = l.read(ctx, func(tx *sql.Tx) error {
		all = nil
		rows, err := tx.QueryContext(ctx, `SELECT pid, start, host, what FROM client ORDER BY rowid`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var c Client
			var start int64
			if err := rows.Scan(&c.PID, &start, &c.Host, &c.What); err != nil {
				return err
			}
			c.Start = uint64(start)
			all = append(all, c)
		}
		return rows.Err()
	})
	return all, err
}

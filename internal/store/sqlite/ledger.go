package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"regexp"
	"time"
)

// Ledger is a file for what can't be found out again: open questions and their answers, trust, taint, and who is
// connected. A write that has returned survives a crash of the machine. All methods are safe for concurrent use, and by
// several processes at once.
type Ledger struct {
	d     *DB
	stamp *stamp
}

// OpenLedger opens the file at path, or makes it, readable only for its owner, and its folder. A file that is damaged is
// renamed, never deleted, to path.damaged-<time>, with a notice; one that a newer version wrote is an error. Where it
// fails nothing may run that needs a person's word.
func OpenLedger(ctx context.Context, path string, o Options) (*Ledger, error) {
	d, err := open(ctx, path, ledgerKind(), o)
	if err != nil {
		return nil, err
	}
	return &Ledger{d: d, stamp: openStamp(path + ".stamp")}, nil
}

// Close closes the file. It is idempotent. Writes that are under way may fail.
func (l *Ledger) Close() error { return l.d.Close() }

var asideName = regexp.MustCompile(`\.damaged-(\d{8}T\d{6}Z)(-\d+)?$`)

// Lost returns when a damaged file was last set aside, as the names beside the ledger tell; the zero time if never. What
// was in that file is unknown since: taint, above all, that isn't in this one may have been in that.
func (l *Ledger) Lost() (last time.Time, err error) {
	names, err := filepath.Glob(escapeGlob(l.d.path) + ".damaged-*")
	if err != nil {
		return last, err
	}
	for _, name := range names {
		m := asideName.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		if at, err := time.Parse(asideTime, m[1]); err == nil && at.After(last) {
			last = at
		}
	}
	return last, nil
}

var globMeta = regexp.MustCompile(`[*?\[\\]`)

func escapeGlob(path string) string { return globMeta.ReplaceAllString(path, `\$0`) }

// write runs f in one transaction that no other's overlaps. f's own errors come back as they are.
func (l *Ledger) write(ctx context.Context, f func(*sql.Tx) error) error {
	return l.within(ctx, nil, f)
}

// read runs f on one state, without being in anyone's way.
func (l *Ledger) read(ctx context.Context, f func(*sql.Tx) error) error {
	return l.within(ctx, &sql.TxOptions{ReadOnly: true}, f)
}

// refusal is an error that isn't the file's.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func (l *Ledger) within(ctx context.Context, o *sql.TxOptions, f func(*sql.Tx) error) error {
	err := l.d.run(ctx, func(db *sql.DB) error {
		tx, err := db.BeginTx(ctx, o)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // of nothing after a commit
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
	if r, ok := errors.AsType[refusal](err); ok {
		return r.error
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

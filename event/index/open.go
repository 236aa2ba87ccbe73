package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// FileName is the index's name in the folder of the log; SQLite puts two more beside it.
const FileName = "index.sqlite"

const (
	lockName = "index.lock"
	patience = 2 * time.Second
)

var (
	errBusy    = errors.New("other readers hold the index")
	errDamaged = errors.New("the index is damaged")
)

// base is the open index file. It has one connection, so its methods must not run at once.
type base struct {
	db    *sql.DB
	conn  *sql.Conn
	lock  *os.File
	words words
}

// openBase opens the index of dir, and makes it where there is none that is ours, whole and of this version.
func openBase(ctx context.Context, dir string) (*base, error) {
	for last := false; ; last = true {
		if err := create(ctx, dir); err != nil {
			return nil, err
		}
		held, err := lock(ctx, filepath.Join(dir, lockName), shared, nil)
		if err != nil {
			return nil, err
		}
		b := &base{lock: held}
		if err = b.open(ctx, filepath.Join(dir, FileName)); err == nil {
			err = b.ours(ctx)
		}
		if err == nil {
			return b, nil
		}
		b.close()
		if last || !damage(err) {
			return nil, err
		}
		if err := remove(ctx, dir); err != nil {
			return nil, err
		}
	}
}

func (b *base) open(ctx context.Context, name string) error {
	options := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(wal)", "synchronous(normal)", "cache_size(-32768)",
		"wal_autocheckpoint(4000)", "temp_store(memory)"}}
	where := url.URL{Scheme: "file", Path: name, RawQuery: "mode=rw&" + options.Encode()}
	var err error
	if b.db, err = sql.Open("sqlite", where.String()); err != nil {
		return err
	}
	b.db.SetMaxOpenConns(1)
	if b.conn, err = b.db.Conn(ctx); err != nil {
		return err
	}
	b.words.reset()
	return nil
}

// create makes an empty index where there is none, while nobody uses one.
func create(ctx context.Context, dir string) error {
	name := filepath.Join(dir, FileName)
	there := func() bool {
		info, err := os.Stat(name)
		return err == nil && info.Size() > 0
	}
	if there() {
		return nil
	}
	b := &base{}
	var err error
	if b.lock, err = lock(ctx, filepath.Join(dir, lockName), exclusive, there); err != nil || b.lock == nil {
		return err
	}
	defer b.close()
	if there() {
		return nil
	}
	if err := clearOut(dir); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // SQLite gives its other files the same mode
	if err != nil {
		return err
	}
	f.Close()
	if err := b.open(ctx, name); err != nil {
		return err
	}
	return b.within(ctx, "IMMEDIATE", func() error {
		_, err := b.conn.ExecContext(ctx, schema)
		return err
	})
}

// ours fails for a file of another program or version.
func (b *base) ours(ctx context.Context) error {
	var id, is int
	for pragma, to := range map[string]*int{"application_id": &id, "user_version": &is} {
		if err := b.conn.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(to); err != nil {
			return err
		}
	}
	if id != applicationID || is != version {
		return fmt.Errorf("%w: it is of another program or version", errDamaged)
	}
	return nil
}

// within runs f in a transaction.
func (b *base) within(ctx context.Context, how string, f func() error) error {
	if _, err := b.conn.ExecContext(ctx, "BEGIN "+how); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = b.conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		b.words.reset()
		_, _ = b.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return err
}

func (b *base) close() {
	if b.conn != nil {
		b.conn.Close()
	}
	if b.db != nil {
		b.db.Close()
	}
	b.lock.Close()
}

// remove deletes the index when nobody uses it.
func remove(ctx context.Context, dir string) error {
	held, err := lock(ctx, filepath.Join(dir, lockName), exclusive, nil)
	if err != nil {
		return err
	}
	defer held.Close()
	return clearOut(dir)
}

func clearOut(dir string) (err error) {
	for _, end := range [...]string{"-wal", "-shm", "-journal", ""} {
		if e := os.Remove(filepath.Join(dir, FileName+end)); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// damage reports whether err says that the file is no good, and not that it can't be used just now.
func damage(err error) bool {
	if errors.Is(err, errDamaged) {
		return true
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	if e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ {
		return true
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH,
		sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_SCHEMA:
		return true
	}
	return false
}

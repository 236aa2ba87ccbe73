package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// run does f with the file. Where that finds it damaged, it is replaced, and f is done once more.
func (d *DB) run(ctx context.Context, f func(*sql.DB) error) error {
	h := d.now.Load()
	err := f(h.db)
	if !damaged(err) {
		return d.failure(err)
	}
	h, err = d.renew(ctx, h, err)
	d.tell()
	if err == nil {
		err = f(h.db)
	}
	return d.failure(err)
}

// mostRenewals bounds how often a DB replaces its file: a disk that damages each new one is beyond that.
const mostRenewals = 3

// renew replaces the file of bad, unless another goroutine or process has done so.
func (d *DB) renew(ctx context.Context, bad *handle, why error) (*handle, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, sql.ErrConnDone
	}
	if now := d.now.Load(); now != bad {
		return now, nil
	}
	if d.renewals++; d.renewals > mostRenewals {
		return nil, why
	}
	h, err := d.make(ctx, bad)
	if err != nil {
		return nil, err
	}
	_ = bad.db.Close()
	d.now.Store(h)
	return h, nil
}

// failure says which file failed, and what a person can do about it.
func (d *DB) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the %s %s can't be used: %w%s", d.kind.what, d.path, err, advice(err))
}

func advice(err error) string {
	code := 0
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code = e.Code()
	}
	switch {
	case errors.Is(err, errNewer):
		return ". Use that version; nothing in the file has been changed"
	case errors.Is(err, syscall.ENOSPC), code&0xff == sqlite3.SQLITE_FULL, code == sqlite3.SQLITE_IOERR_SHMSIZE, code == sqlite3.SQLITE_IOERR_WRITE:
		return ". Free space on the disk"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), code&0xff == sqlite3.SQLITE_READONLY, code&0xff == sqlite3.SQLITE_CANTOPEN:
		return ". Make it and its folder writable for this user"
	case busy(err):
		return ". Another process has held it for long: see which one, with fuser"
	}
	return ""
}

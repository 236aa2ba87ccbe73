package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// existing returns the file if there is one with something in it; else fs.ErrNotExist. It sees to it that the file is its
// owner's alone. It doesn't open it: closing would take the locks of other connections of this process away.
func existing(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	if info.Size() == 0 {
		return nil, fs.ErrNotExist
	}
	if info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(path, 0o600)
	}
	return info, err
}

// openLock opens the lock file, and so finds out whether the folder can be written. SQLite would not say why it can't.
func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}

// create makes the file where it is missing, for nobody but us; SQLite gives the files that it puts beside it the same
// mode. It needs the lock.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// pool opens the file when it is first used. One connection is enough, and the file is only in the way of others while
// it writes.
func pool(path string, k kind) (*sql.DB, error) {
	settings := url.Values{
		"_busy_timeout": {strconv.FormatInt(k.busy.Milliseconds(), 10)}, // before all else: the mode may have to wait for another process
		"_journal_mode": {"WAL"},
		"_synchronous":  {k.synchronous},
		"_txlock":       {"immediate"},
		"_defensive":    {"1"},
		"_dqs":          {"0"},
		"_error_rc":     {"1"},
		"_pragma":       {"trusted_schema(0)", "cell_size_check(1)"},
	}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: settings.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// damaged tells an error that only another file can cure. Our statements are fixed, so one that SQLite doesn't
// understand means that the tables aren't ours.
func damaged(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT:
		return true
	}
	return e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ
}

// busy tells that another process is about to make the file, or has held it for long.
func busy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// setAside renames the file and what SQLite keeps beside it, in place of one that has that name. Other processes
// go on with the file under its new name until they end.
func setAside(path, suffix string) error {
	for _, part := range []string{"-wal", "-shm", ""} { // last, what makes the others of use
		if err := os.Rename(path+part, path+suffix+part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		} else if err != nil {
			_ = os.Remove(path + suffix + part) // of the one before
		}
	}
	return nil
}

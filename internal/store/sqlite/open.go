package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"
)

// lockTime bounds how long Open waits for another process that makes or replaces the file.
const lockTime = 5 * time.Second

// Options configure a DB. The zero value works.
type Options struct {
	// Notice is told, in words for a person, that a file was set aside. It runs on the goroutine of the call that found
	// it. Nil: nobody is told.
	Notice func(string)
}

// DB is an open file. All methods are safe for concurrent use.
type DB struct {
	path string
	kind kind
	o    Options
	now  atomic.Pointer[handle]

	keepBytes int64 // of the catalogue

	mu       sync.Mutex // held while the file is replaced, and by Close
	closed   bool
	renewals int      // so far
	untold   []string // for Options.Notice
}

// handle is one file under the path: a new one takes the place of one that is damaged.
type handle struct {
	db   *sql.DB
	info os.FileInfo
}

// Open opens the file at path, or makes it, readable only for its owner, and its folder. A file that is damaged, or
// newer than this program, is renamed to path.damaged or path.newer. It fails where no file can be written, and then
// says what to do; Usher works without one.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	return open(ctx, path, cacheKind(), o)
}

func open(ctx context.Context, path string, k kind, o Options) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	d := &DB{path: path, kind: k, o: o, keepBytes: keepBytes}
	h, err := d.ready(ctx)
	if damaged(err) || busy(err) || errors.Is(err, errOld) || errors.Is(err, errNewer) || errors.Is(err, fs.ErrNotExist) {
		h, err = d.make(ctx, nil)
		d.tell()
	}
	if err != nil {
		return nil, d.failure(err)
	}
	d.now.Store(h)
	return d, nil
}

var (
	errOld   = errors.New("its tables are those of an older version of Usher")
	errNewer = errors.New("it was written by a newer version of Usher")
)

// ready opens a file that is there and up to date, which takes no lock.
func (d *DB) ready(ctx context.Context) (*handle, error) {
	f, err := openLock(d.path + ".lock")
	if err != nil {
		return nil, err
	}
	_ = f.Close()
	info, err := existing(d.path)
	if err != nil {
		return nil, err
	}
	return d.look(ctx, info)
}

// look opens the file and compares its version.
func (d *DB) look(ctx context.Context, info os.FileInfo) (*handle, error) {
	db, err := pool(d.path, d.kind)
	if err != nil {
		return nil, err
	}
	var version int
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	switch {
	case err != nil:
	case version > d.kind.schema:
		err = errNewer
	case version < d.kind.schema:
		err = errOld
	default:
		return &handle{db: db, info: info}, nil
	}
	_ = db.Close()
	return nil, err
}

// make opens the file while no other process makes or replaces it, brings its tables up to date, and replaces it where
// it can't be used. Where the file is still the bad one, it is replaced however good it looks.
func (d *DB) make(ctx context.Context, bad *handle) (*handle, error) {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	unlock, err := lock(waiting, d.path+".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if info, err := os.Stat(d.path); bad != nil && err == nil && os.SameFile(info, bad.info) {
		if err := d.replace(".damaged"); err != nil {
			return nil, err
		}
	}
	h, err := d.current(ctx)
	suffix := ".damaged"
	if errors.Is(err, errNewer) && d.kind.throwAway {
		suffix = ".newer"
	} else if !damaged(err) {
		return h, err
	}
	if err := d.replace(suffix); err != nil {
		return nil, err
	}
	return d.current(ctx)
}

// current opens the file, which may be empty, and brings its tables up to date. It needs the lock.
func (d *DB) current(ctx context.Context) (*handle, error) {
	if err := create(d.path); err != nil {
		return nil, err
	}
	info, err := os.Stat(d.path)
	if err != nil {
		return nil, err
	}
	h, err := d.look(ctx, info)
	if !errors.Is(err, errOld) {
		return h, err
	}
	if err := d.migrate(ctx); err != nil {
		return nil, err
	}
	return d.look(ctx, info)
}

// migrate runs what hasn't run yet. The number is set last: a process that is killed before leaves that to the next.
func (d *DB) migrate(ctx context.Context) error {
	db, err := pool(d.path, d.kind)
	if err != nil {
		return err
	}
	defer db.Close()
	files, err := fs.Sub(d.kind.files, d.kind.folder)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", d.kind.schema))
	return err
}

func (d *DB) replace(suffix string) error {
	aside := d.kind.aside(d.path, suffix)
	if err := setAside(d.path, aside); err != nil {
		return err
	}
	why := "is damaged"
	if suffix == ".newer" {
		why = "was written by a newer version of Usher"
	}
	d.untold = append(d.untold, d.kind.notice(d.path, why, aside))
	return nil
}

// tell gives notice of what happened while locks were held.
func (d *DB) tell() {
	d.mu.Lock()
	untold := d.untold
	d.untold = nil
	d.mu.Unlock()
	for _, text := range untold {
		d.o.Notice(text)
	}
}

// Close closes the file. It is idempotent. Writes that are under way may fail.
func (d *DB) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	return d.now.Load().db.Close()
}

package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/store/sqlite"
)

// A file that can't be read is set aside, wherever that is found out, and the next one works.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, path string, b []byte) []byte{
		"garbage":       func(t *testing.T, _ string, b []byte) []byte { return []byte(strings.Repeat("no database ", 1000)) },
		"short garbage": func(t *testing.T, _ string, b []byte) []byte { return []byte(strings.Repeat("x", 600)) },
		"zeros":         func(t *testing.T, _ string, b []byte) []byte { return make([]byte, len(b)) },
		"half":          func(t *testing.T, _ string, b []byte) []byte { return b[:len(b)/2/4096*4096] },
		"one page":      func(t *testing.T, _ string, b []byte) []byte { return b[:4096] },
		"within a page": func(t *testing.T, _ string, b []byte) []byte { return b[:10_000] },
		"header only":   func(t *testing.T, _ string, b []byte) []byte { return b[:100] },
		"pages of others": func(t *testing.T, _ string, b []byte) []byte {
			return append(b[:4096:4096], make([]byte, len(b)-4096)...)
		},
	}
	good, err := os.ReadFile(filled(t, 10))
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "catalog.db")
			bad := damage(t, path, good)
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			d, said := open(t, path)
			if got := load(t, d, "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9"); len(got) != 0 {
				t.Errorf("%d records", len(got))
			}
			holds(t, d, "k")
			if len(said.all) != 1 {
				t.Fatalf("notices: %q", said.all)
			}
			contains(t, said.all[0], path, "is damaged", "catalog.db.damaged", "you may delete it")
			if aside, err := os.ReadFile(path + ".damaged"); err != nil || len(aside) < len(bad) {
				t.Errorf("%d bytes were set aside, want %d: %v", len(aside), len(bad), err)
			}
			closed(t, d)
			d, said = open(t, path)
			if len(load(t, d, "k")) != 1 || len(said.all) > 0 {
				t.Error("not kept", said.all)
			}
		})
	}
}

// An empty file is a new one, and so is, to SQLite, a byte alone.
func TestEmpty(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "x"} {
		path := filepath.Join(t.TempDir(), "catalog.db")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		d, said := open(t, path)
		holds(t, d, "k")
		closed(t, d)
		d, _ = open(t, path)
		if len(load(t, d, "k")) != 1 || len(said.all) > 0 {
			t.Errorf("%d bytes: %q", len(content), said.all)
		}
	}
}

// A file of a newer Usher is set aside, and one whose tables are others, too. What was set aside before makes place.
func TestOtherSchema(t *testing.T) {
	t.Parallel()
	for statement, suffix := range map[string]string{
		`PRAGMA user_version = 1000`:                  ".newer",
		`ALTER TABLE catalog RENAME TO other`:         ".damaged",
		`ALTER TABLE catalog RENAME COLUMN sum TO s2`: ".damaged",
	} {
		t.Run(statement, func(t *testing.T) {
			path := filled(t, 2)
			for range 2 {
				raw, err := sql.Open("sqlite", path)
				if err != nil {
					t.Fatal(err)
				}
				_, err = raw.Exec(statement)
				if err2 := raw.Close(); err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
				d, said := open(t, path)
				if got := load(t, d, "k0"); len(got) != 0 {
					t.Errorf("%d records", len(got))
				}
				holds(t, d, "k0")
				closed(t, d)
				if len(said.all) != 1 {
					t.Fatalf("notices: %q", said.all)
				}
				contains(t, said.all[0], "catalog.db"+suffix)
			}
			files, err := filepath.Glob(filepath.Dir(path) + "/*")
			files = slices.DeleteFunc(files, func(name string) bool {
				return strings.HasSuffix(name, suffix+"-wal") || strings.HasSuffix(name, suffix+"-shm")
			})
			if err != nil || len(files) != 3 { // the file, its lock, and one that was set aside
				t.Error(files, err)
			}
		})
	}
}

// A process that was killed between its migrations and their number leaves nothing to repair.
func TestNumberMissing(t *testing.T) {
	path := filled(t, 1)
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec(`PRAGMA user_version = 0`); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	d, said := open(t, path)
	if len(load(t, d, "k0")) != 1 || len(said.all) > 0 {
		t.Error("lost", said.all)
	}
}

// A path that can't be a file is an error that names it.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "file", "catalog.db")} {
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err == nil {
			t.Fatalf("%s was opened", path)
		}
		contains(t, err.Error(), path)
	}
}

// A file that is damaged again and again is replaced three times; then the error stays.
func TestRenewals(t *testing.T) {
	t.Parallel()
	path := filled(t, 1)
	d, said := open(t, path)
	for range 5 {
		raw, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = raw.Exec(`ALTER TABLE catalog RENAME TO other`)
		if err2 := raw.Close(); err2 != nil {
			t.Fatal(err, err2)
		}
		_, err = d.Catalog().Load(t.Context(), []string{"k0"})
		if err != nil && len(said.all) < 3 {
			t.Errorf("after %d notices: %v", len(said.all), err)
		}
	}
	_, err := d.Catalog().Load(t.Context(), []string{"k0"})
	if err == nil || len(said.all) != 3 {
		t.Errorf("%v, %d notices", err, len(said.all))
	}
}

// The number that Open compares is that of the last migration.
func TestSchemaNumber(t *testing.T) {
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var last, version int
	if _, err := fmt.Sscanf(filepath.Base(files[len(files)-1]), "%d_", &last); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", filled(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if err := raw.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil || version != last {
		t.Errorf("user_version is %d, the last migration %d: %v", version, last, err)
	}
}

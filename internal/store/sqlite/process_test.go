package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/store/sqlite"
)

const writes = 8 // of each process

var rounds = flag.Int("rounds", 1, "how often several processes begin one file together")

// child is a process of its own that uses a file together with others.
func child(path string) error {
	ctx := context.Background()
	var said []string
	d, err := sqlite.Open(ctx, path, sqlite.Options{Notice: func(text string) { said = append(said, text) }})
	if err != nil {
		return err
	}
	defer d.Close()
	own := fmt.Sprint("own-", os.Getpid())
	for i := range writes {
		mine := catalog.Record{Key: own, Server: "s", Data: bytes.Repeat([]byte{byte(i)}, 9000), Saved: record("", 0).Saved}
		shared := mine
		shared.Key = "shared"
		if err := d.Catalog().Save(ctx, mine, shared); err != nil {
			return err
		}
		got, err := d.Catalog().Load(ctx, []string{own, "shared"})
		if err != nil {
			return err
		}
		for _, r := range got {
			if bytes.Count(r.Data, r.Data[:1]) != 9000 || r.Key == own && r.Data[0] != byte(i) {
				return errors.New(r.Key + " has bytes of two writes")
			}
		}
		if len(got) != 2 {
			return fmt.Errorf("%d records of 2", len(got))
		}
	}
	fmt.Println(own, strings.Join(said, "\n"))
	return d.Close()
}

// together runs children on one file at the same time, and returns their keys and what they said.
func together(t *testing.T, path string, n int) (keys []string, said string) {
	t.Helper()
	var all []*exec.Cmd
	for range n {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childFile+"="+path, "GORACE=atexit_sleep_ms=0")
		cmd.Stdout, cmd.Stderr = new(bytes.Buffer), new(bytes.Buffer)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, cmd.Stderr)
		}
		key, text, _ := strings.Cut(strings.TrimSpace(fmt.Sprint(cmd.Stdout)), " ")
		keys = append(keys, key)
		said += text
	}
	return keys, said
}

// E6: several processes that begin one file at the same time, and write to it, all do so.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for range *rounds {
		path := filepath.Join(t.TempDir(), "cache", "catalog.db")
		keys, said := together(t, path, 3)
		d, _ := open(t, path)
		if got := load(t, d, append(keys, "shared")...); len(got) != len(keys)+1 || said != "" {
			t.Errorf("%d records, %q", len(got), said)
		}
		closed(t, d)
	}
}

// Several processes that find a file damaged replace it once.
func TestProcessesFindDamage(t *testing.T) {
	t.Parallel()
	path := filled(t, 10)
	if err := os.WriteFile(path, bytes.Repeat([]byte("garbage "), 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, said := together(t, path, 3)
	d, _ := open(t, path)
	if got := load(t, d, append(keys, "shared")...); len(got) != len(keys)+1 {
		t.Errorf("%d records", len(got))
	}
	if n := strings.Count(said, "is damaged"); n != 1 {
		t.Errorf("it was set aside %d times: %s", n, said)
	}
}

// Two handles of one process, one of which finds damage while it runs: the other goes on, and meets it in the new file.
func TestDamageWhileOpen(t *testing.T) {
	path := filled(t, 10)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	first, said1 := open(t, path)
	second, said2 := open(t, path)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(make([]byte, info.Size()-4096), 4096); err != nil {
		t.Fatal(err)
	}
	load(t, first, "k0")
	load(t, second, "k0")
	holds(t, first, "k")
	if len(load(t, second, "k")) != 1 {
		t.Error("they have two files")
	}
	if n := len(said1.all) + len(said2.all); n != 1 {
		t.Errorf("it was set aside %d times", n)
	}
}

// A file that is set aside while another has it open stays whole, and its end takes nothing away from its successor.
func TestSetAsideWhileOpen(t *testing.T) {
	path := filled(t, 3)
	old, _ := open(t, path)
	save(t, old, record("last", 5000)) // it is in the -wal
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec(`PRAGMA user_version = 1000`); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	young, said := open(t, path)
	if len(said.all) != 1 {
		t.Fatal(said.all)
	}
	save(t, young, record("young", 5000))
	save(t, old, record("later", 5000))
	if len(load(t, old, "k0", "last", "later", "young")) != 3 {
		t.Error("the old file lost something")
	}
	closed(t, old)
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Error(err)
	}
	third, _ := open(t, path)
	if len(load(t, third, "young", "later")) != 1 {
		t.Error("the new file lost something")
	}
	holds(t, third, "k")
	holds(t, young, "k2")
	if len(load(t, third, "k", "k2")) != 2 {
		t.Error("they have two files")
	}
}

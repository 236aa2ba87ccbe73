package index_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/index"
	"github.com/usher-mcp/usher/event/journal"
)

// writeLog writes the log of one process, with rotations, and one that follows it.
func writeLog(t testing.TB, dir string, calls int) {
	t.Helper()
	for range 2 {
		j := start(t, journal.Options{Dir: dir, RotateBytes: 8_000})
		add(t, j, "s_"+j.Host()[2:8], event.SessionStarted{Kind: "agent"})
		for i := range calls {
			add(t, j, "s_"+j.Host()[2:8], event.ToolStarted{Tool: "mcp.fs.read", ToolCallID: fmt.Sprint("c_", i)})
			if i%15 == 0 {
				flush(t, j)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func indexFile(dir string) string { return filepath.Join(dir, index.FileName) }

// H7: an index that is no good is made anew, whatever is wrong with it.
func TestIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	log := t.TempDir()
	writeLog(t, log, 30)
	want := all(t, log)
	query := func(t *testing.T, dir, statement string) {
		db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(indexFile(dir)))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	write := func(t *testing.T, dir string, b []byte) {
		if err := os.WriteFile(indexFile(dir), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"nothing":     func(*testing.T, string) {},
		"gone":        func(t *testing.T, dir string) { _ = os.Remove(indexFile(dir)) },
		"empty":       func(t *testing.T, dir string) { write(t, dir, nil) },
		"no database": func(t *testing.T, dir string) { write(t, dir, bytes.Repeat([]byte("usher "), 2000)) },
		"cut": func(t *testing.T, dir string) {
			if err := os.Truncate(indexFile(dir), 20_000); err != nil {
				t.Fatal(err)
			}
		},
		"zeros": func(t *testing.T, dir string) {
			b, err := os.ReadFile(indexFile(dir))
			if err != nil {
				t.Fatal(err)
			}
			clear(b[4096:])
			write(t, dir, b)
		},
		"older":         func(t *testing.T, dir string) { query(t, dir, "PRAGMA user_version = 0") },
		"newer":         func(t *testing.T, dir string) { query(t, dir, "PRAGMA user_version = 99") },
		"foreign":       func(t *testing.T, dir string) { query(t, dir, "PRAGMA application_id = 1") },
		"a table less":  func(t *testing.T, dir string) { query(t, dir, "DROP TABLE event") },
		"a column less": func(t *testing.T, dir string) { query(t, dir, "ALTER TABLE file RENAME COLUMN taken TO took") },
		"wrong places":  func(t *testing.T, dir string) { query(t, dir, "UPDATE event SET start = start + 1") },
		"wrong sizes":   func(t *testing.T, dir string) { query(t, dir, "UPDATE event SET size = size * 1000") },
		"wrong times":   func(t *testing.T, dir string) { query(t, dir, "UPDATE event SET off = 5") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "a folder?with#odd %41name")
			if err := os.CopyFS(dir, os.DirFS(log)); err != nil {
				t.Fatal(err)
			}
			open(t, dir).Close()
			spoil(t, dir)
			l := indexed(t, dir)
			got, _ := find(t, l, index.Query{Limit: 1 << 30})
			if err := l.Direct(); err != nil {
				t.Errorf("not made anew: %v", err)
			}
			same(t, got, want, name)
			l.Close()
		})
	}
}

// An index that others hold can't be made anew under them; then the journal is read.
func TestDamagedIndexInUse(t *testing.T) {
	t.Parallel() // it waits for a lock
	dir := t.TempDir()
	writeLog(t, dir, 50)
	first := indexed(t, dir)
	if err := os.Truncate(indexFile(dir), 5000); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(indexFile(dir) + "-wal")
	second := open(t, dir)
	got, _ := find(t, second, index.Query{})
	same(t, got, all(t, dir))
	first.Close()
	second.Close()
	got, _ = find(t, indexed(t, dir), index.Query{})
	same(t, got, all(t, dir))
}

// H7: a folder that can't be written is read all the same.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeLog(t, dir, 50)
	readOnly(t, dir)
	l := open(t, dir)
	if l.Direct() == nil {
		t.Error("an index in a folder that can't be written")
	}
	got, _ := find(t, l, index.Query{Type: "tool.*", Limit: 3})
	want := all(t, dir)
	same(t, got, choose(see(t, timeline(t, dir)), index.Query{Type: "tool.*", Limit: 3}))
	got, _ = find(t, l, index.Query{})
	same(t, got, want)
	if names, err := filepath.Glob(filepath.Join(dir, "index*")); err != nil || len(names) > 0 {
		t.Error(names, err)
	}
}

// Files that are gone, changed in place or cut are noticed; so are lines that are no events, and a torn end.
func TestFilesThatChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeLog(t, dir, 60)
	check := func(bad int) {
		t.Helper()
		l := indexed(t, dir)
		defer l.Close()
		got, n := find(t, l, index.Query{Limit: 1 << 30})
		same(t, got, all(t, dir))
		if n != bad {
			t.Errorf("%d bad lines, want %d", n, bad)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if len(files) < 4 {
		t.Fatal("too few files")
	}
	check(0)
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	check(0)
	change := func(name string, f func([]byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(name)
		if err == nil {
			b = f(b)
			_ = os.Chmod(name, 0o600)
			err = os.WriteFile(name, b, 0o600)
		}
		if err == nil {
			err = os.Chmod(name, 0o400)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change(files[1], func(b []byte) []byte { return bytes.Replace(b, []byte(`"c_`), []byte(`"d_`), 1) })
	check(0)
	change(files[1], func(b []byte) []byte { return bytes.Replace(b, []byte(`{"seq"`), []byte(`{"sec"`), 2) })
	check(2)
	change(files[2], func(b []byte) []byte { return b[:len(b)-10] })
	check(3)
	change(files[2], func(b []byte) []byte { return append(bytes.Repeat([]byte("x"), event.MaxLine+10), b...) })
	check(4)
}

// Two processes, and more readers, may fill one index at once.
func TestManyFillers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, 7)
	w.dir = dir
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for range 10 * *seeds {
				l, err := index.Open(t.Context(), dir, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if err := l.Direct(); err != nil {
					t.Error(err)
				}
				if _, err := l.Find(t.Context(), index.Query{Limit: 5}, func(index.Found) error { return nil }); err != nil {
					t.Error(err)
				}
				l.Close()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 1 + int(*seeds) {
		cmd := filler(dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 40 {
			if len(w.runs) == 0 {
				w.step()
			}
			w.record(pick(w.r, w.runs))
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	w.flush()
	close(stop)
	group.Wait()
	got, _ := find(t, indexed(t, dir), index.Query{Limit: 1 << 30})
	same(t, got, all(t, dir))
}

func filler(dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "USHER_TEST_FILL="+dir, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// H7: whoever fills the index may be killed at any moment; the next one goes on.
func TestFillerIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := start(t, journal.Options{Dir: dir, RotateBytes: 30_000})
	add(t, j, "s_1", event.SessionStarted{Kind: "agent"})
	for i := range 1_500 {
		add(t, j, "s_1", event.ToolStarted{Tool: "mcp.fs.read", ToolCallID: fmt.Sprint("c_", i)})
		if i%75 == 0 {
			flush(t, j)
		}
	}
	flush(t, j)
	for kill := range 3 {
		cmd := filler(dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		read := bufio.NewReader(out)
		for range 1 + kill { // transactions, and a part of the next one
			if _, err := read.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if _, err := in.Write([]byte("\n")); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			t.Error("it was done before it could be killed")
		}
	}
	got, _ := find(t, indexed(t, dir), index.Query{Limit: 1 << 30})
	same(t, got, all(t, dir))
}

package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/event"
)

// H5: a program that cuts the spool of a living process off doesn't end it. What lay there is lost and said to be, and
// the files stay as they were.
func TestSpoolCutOff(t *testing.T) {
	for name, size := range map[string]int64{"empty": 0, "first page": spoolPage, "odd": spoolPage + 100} {
		t.Run(name, func(t *testing.T) {
			j, dir := spooledCalls(t)
			if err := os.Truncate(spoolIn(t, dir), size); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				m, err := j.Append(t.Context(), "s_1", event.ToolCompleted{Tool: "t", ToolCallID: "d", ResultPreview: strings.Repeat("d", 8000)})
				if err == nil {
					err = errors.Join(j.Wait(t.Context(), m), j.Flush())
				}
				if !errors.Is(err, errSpoiled) {
					t.Errorf("%v", err)
				}
			}
			if err := j.Close(); !errors.Is(err, errSpoiled) {
				t.Errorf("Close: %v", err)
			}
			if got := strings.Join(previews(t, dir), ""); got != "a" {
				t.Errorf("%q", got)
			}
		})
	}
}

// With nothing in the spool nothing is lost: the queue goes on in memory, and Wait waits for the files.
func TestSpoolCutOffWhileEmpty(t *testing.T) {
	j, dir := spooledCalls(t)
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(spoolIn(t, dir), 0); err != nil {
		t.Fatal(err)
	}
	for _, preview := range []string{"d", "e", "f"} {
		m := complete1(t, j, preview)
		if j.durable.Load() < uint64(m) {
			t.Error("Wait promised what is in memory alone")
		}
	}
	if got := strings.Join(previews(t, killed(t, dir)), ""); got != "abcdef" {
		t.Errorf("%q", got)
	}
	end(t, j)
	if got := strings.Join(previews(t, dir), ""); got != "abcdef" {
		t.Errorf("after Close: %q", got)
	}
}

// Another program that writes into the first page of a live spool doesn't end the process either.
func TestSpoolPageOverwritten(t *testing.T) {
	j, dir := spooledCalls(t)
	fill(j.spool.m[:spoolPage])
	*j.spool.word(spoolTurn) = 1 << 40
	complete1(t, j, "d")
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	end(t, j)
	if got := strings.Join(previews(t, dir), ""); got != "abcd" {
		t.Errorf("%q", got)
	}
}

// A crash of the machine may keep the spool as it was two files ago, while what it holds lies in a file that is sealed.
func TestSpoolOlderThanTheFiles(t *testing.T) {
	j, dir := spooledCalls(t)
	old := contentOf(t, spoolIn(t, dir))
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	j.w.Lock()
	j.limit = 1
	j.w.Unlock()
	begin(t, j, "s_2") // goes on in a new file
	left := killed(t, dir)
	there, err := list(dir)
	if err != nil || len(there) < 2 || !there[0].sealed {
		t.Fatal(there, err)
	}
	for _, e := range there {
		if e.sealed {
			if err := os.Chmod(filepath.Join(left, e.name), 0o400); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(t, spoolIn(t, left), old)
	if got := strings.Join(previews(t, left), ""); got != "abc" {
		t.Errorf("%q", got)
	}
}

// A start doesn't take the spool of a living process that just goes on to its next file.
func TestSpoolsOfTheLiving(t *testing.T) {
	dir := t.TempDir()
	j, err := Open(t.Context(), Options{Dir: dir, RotateBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	begin(t, j, "s_1")
	mine := filepath.Join(dir, spoolName(j.group))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			if _, err := j.Append(ctx, "s_1", event.ToolStarted{Tool: "t", ToolCallID: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
			if err := j.Flush(); err != nil {
				t.Error(err)
			}
		}
	}()
	other := &Journal{opt: Options{Dir: dir}}
	for until := time.Now().Add(time.Second); time.Now().Before(until); {
		if err := other.dropOrphans(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(mine); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	<-done
	end(t, j)
}

package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/event"
)

// killed is a copy of a journal's folder at this moment: what its process would leave if it were killed now.
func killed(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func spoolIn(t testing.TB, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.spool"))
	if err != nil || len(names) > 1 {
		t.Fatal(names, err)
	}
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// previews are the results of all calls in the log of a process that was killed, after the next start.
func previews(t testing.TB, dir string) (out []string) {
	t.Helper()
	end(t, start(t, dir, 0))
	if r, err := Verify(dir); err != nil || len(r.Problems) > 0 || len(r.Notes) > 0 {
		t.Errorf("%v %+v", err, r)
	}
	if left := spoolIn(t, dir); left != "" {
		t.Error("the spool is still there")
	}
	for e, err := range Read(dir, Filter{Type: "tool.completed"}) {
		if err != nil {
			t.Fatal(err)
		}
		d, err := event.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d.(event.ToolCompleted).ResultPreview)
	}
	return out
}

func complete1(t testing.TB, j *Journal, preview string) event.Mark {
	t.Helper()
	m, err := j.Append(context.Background(), "s_1",
		event.ToolCallRequested{ToolCallID: preview[:1], Tool: "t", Args: json.RawMessage(`{"n":1.0}`)},
		&event.ToolCompleted{Tool: "t", ToolCallID: preview[:1], ResultPreview: preview})
	if err == nil {
		err = j.Wait(context.Background(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// spooled is a journal whose last calls are in its spool alone.
func spooledCalls(t testing.TB) (*Journal, string) {
	dir := t.TempDir()
	j, err := Open(context.Background(), Options{Dir: dir, flushAfter: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	begin(t, j, "s_1")
	complete1(t, j, "a")
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	complete1(t, j, "b")
	complete1(t, j, "c")
	return j, dir
}

// H5: what Wait promised survives a kill although no write has happened.
func TestSpoolKeepsPromises(t *testing.T) {
	j, dir := spooledCalls(t)
	before := killed(t, dir)
	seen := 0
	for range Read(before, Filter{Type: "tool.completed"}) {
		seen++
	}
	if got := previews(t, before); seen != 1 || strings.Join(got, "") != "abc" {
		t.Errorf("%d in the files, after the next start %q", seen, got)
	}
	if r, err := Verify(killed(t, dir)); err != nil || len(r.Problems) > 0 || !strings.Contains(strings.Join(r.Notes, "\n"), "4 events") {
		t.Errorf("before the next start: %v %+v", err, r)
	}
	end(t, j)
	if left := spoolIn(t, dir); left != "" {
		t.Error("Close left the spool")
	}
	if got := previews(t, dir); strings.Join(got, "") != "abc" {
		t.Errorf("after Close: %q", got)
	}
}

// What has no room in the spool is waited for in the files, and what follows it is promised only then.
func TestSpoolOverflow(t *testing.T) {
	j, dir := spooledCalls(t)
	big := strings.Repeat("x", spoolPart/2)
	j.w.Lock() // nobody writes
	m, err := j.Append(t.Context(), "s_1", event.ToolCompleted{Tool: "t", ToolCallID: "d", ResultPreview: "d" + big},
		event.ToolCompleted{Tool: "t", ToolCallID: "e", ResultPreview: "e" + big}, event.ToolCompleted{Tool: "t", ToolCallID: "f", ResultPreview: "f" + big})
	if got := previews(t, killed(t, dir)); err != nil || strings.Join(got, "") != "abc" {
		t.Errorf("nothing new was promised: %d calls", len(got))
	}
	if j.spooled.Load() >= uint64(m) {
		t.Error("promised what isn't in the spool")
	}
	j.w.Unlock()
	if err := j.Wait(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	complete1(t, j, "g")
	if j.spooled.Load() <= uint64(m) {
		t.Error("the spool isn't used again")
	}
	if got := previews(t, killed(t, dir)); len(got) != 7 || got[6] != "g" {
		t.Errorf("%d calls", len(got))
	}
}

// A machine that crashes keeps what it likes of each file. No event comes twice, none out of its place, and the chain
// doesn't hide that some are missing.
func TestSpoolAfterACrashOfTheMachine(t *testing.T) {
	_, dir := spooledCalls(t)
	for name, damage := range map[string]func(spool, log []byte) ([]byte, []byte){
		"the log lost its end":         func(s, l []byte) ([]byte, []byte) { return s, l[:len(l)-300] },
		"the log is empty":             func(s, l []byte) ([]byte, []byte) { return s, nil },
		"the spool is empty":           func(s, l []byte) ([]byte, []byte) { return nil, l },
		"the spool lost its end":       func(s, l []byte) ([]byte, []byte) { return s[:spoolPage+100], l },
		"the spool is zero":            func(s, l []byte) ([]byte, []byte) { return make([]byte, len(s)), l },
		"its first page is older":      func(s, l []byte) ([]byte, []byte) { clear(s[8:256]); return s, l },
		"its parts are zero":           func(s, l []byte) ([]byte, []byte) { clear(s[spoolPage:]); return s, l },
		"lengths that are far too big": func(s, l []byte) ([]byte, []byte) { fill(s[256:384]); return s, l },
	} {
		t.Run(name, func(t *testing.T) {
			dir := killed(t, dir)
			spool, there := spoolIn(t, dir), onlyFile(t, dir)
			s, l := damage(contentOf(t, spool), contentOf(t, there))
			put(t, spool, s)
			put(t, there, l)
			got := strings.Join(previews(t, dir), "")
			if !strings.HasPrefix("abc", got) && got != "" {
				t.Errorf("%q", got)
			}
		})
	}
}

func fill(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

func onlyFile(t testing.TB, dir string) string {
	t.Helper()
	there, err := list(dir)
	if err != nil || len(there) != 1 {
		t.Fatal(there, err)
	}
	return filepath.Join(dir, there[0].name)
}

func contentOf(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t testing.TB, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A byte that changes in the spool of a dead process costs that event and those behind it, never more.
func TestDamagedSpool(t *testing.T) {
	_, dir := spooledCalls(t)
	whole := contentOf(t, spoolIn(t, dir))
	used := spoolPage + 900
	for at := 0; at < used; at += 37 {
		if at > 400 && at < spoolPage {
			continue
		}
		dir := killed(t, dir)
		b := bytes.Clone(whole)
		b[at] ^= 0x55
		put(t, spoolIn(t, dir), b)
		if got := strings.Join(previews(t, dir), ""); !strings.HasPrefix("abc", got) || got == "" {
			t.Errorf("byte %d: %q", at, got)
		}
	}
}

// Another program that writes into a live spool stops the log; nothing that it wrote gets in.
func TestSpoiledSpool(t *testing.T) {
	j, dir := spooledCalls(t)
	j.queued.buf[60] ^= 1
	for range 2 {
		if err := j.Flush(); !errors.Is(err, errSpoiled) {
			t.Errorf("%v", err)
		}
	}
	m, err := j.Append(t.Context(), "s_1", event.ToolCompleted{Tool: "t", ToolCallID: "d"})
	if err == nil {
		err = j.Wait(t.Context(), m)
	}
	if !errors.Is(err, errSpoiled) {
		t.Errorf("%v", err)
	}
	if err := j.Close(); !errors.Is(err, errSpoiled) {
		t.Errorf("Close: %v", err)
	}
	if got := strings.Join(previews(t, dir), ""); got != "a" {
		t.Errorf("%q", got)
	}
}

// A spool whose files are finished or gone goes with the next start; with full durability there is none.
func TestNoSpoolIsLeft(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "20260728T120000000000Z-00000000.spool"), []byte(spoolMagic))
	j, err := Open(t.Context(), Options{Dir: dir, Durability: DurabilityFull})
	if err != nil {
		t.Fatal(err)
	}
	if left := spoolIn(t, dir); left != "" {
		t.Error(left)
	}
	end(t, j)
}

func FuzzSpool(f *testing.F) {
	_, dir := spooledCalls(f)
	b := contentOf(f, spoolIn(f, dir))
	f.Add(b[:spoolParts+128], b[spoolPage:spoolPage+900])
	f.Add([]byte(spoolMagic), []byte{})
	f.Fuzz(func(t *testing.T, page, records []byte) {
		dir := killed(t, dir)
		b := make([]byte, spoolSize)
		copy(b, page[:min(len(page), spoolPage)])
		copy(b[spoolPage:], records)
		put(t, spoolIn(t, dir), b)
		_ = previews(t, dir)
	})
}

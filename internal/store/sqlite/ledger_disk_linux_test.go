package sqlite_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/permission"
)

// A full disk lets nothing pass: no question is taken, and no yes that can't be used up counts. With space it goes on.
func TestLedgerFullDisk(t *testing.T) {
	dir := disk(t, "size=2m")
	path := filepath.Join(dir, "ledger.db")
	l, said := openLedger(t, path)
	q := queueOver(l)
	id := openQuestion(t, q, asked())
	sayYes(t, q, id)
	free := fill(t, dir)
	big := asked()
	big.Args = bytes.Repeat([]byte{'x'}, 1<<20)
	if a, err := q.Ask(t.Context(), big, nil); err == nil || a.Allow {
		t.Fatalf("%+v, %v", a, err)
	} else if _, open := errors.AsType[*approval.Open](err); open {
		t.Error("a question that wasn't kept is said to be open")
	} else {
		contains(t, err.Error(), path, "Free space on the disk")
	}
	if all, err := q.List(t.Context(), approval.Waiting, approval.Allowed); err != nil || len(all) != 1 {
		t.Errorf("%d, %v", len(all), err)
	}
	passed := 0
	for range 200 { // the log of the file may have some space left
		a, err := q.Ask(t.Context(), asked(), nil)
		if a.Allow != (err == nil) {
			t.Fatalf("%+v, %v", a, err)
		}
		if a.Allow {
			passed++
		}
	}
	free()
	if a, err := q.Ask(t.Context(), asked(), nil); err == nil && a.Allow {
		passed++
	}
	if passed != 1 || len(said.all) > 0 {
		t.Errorf("%d passed, %q", passed, said.all)
	}
	openQuestion(t, q, big)
}

// A disk that is full at the start opens no ledger.
func TestLedgerFullDiskAtOpen(t *testing.T) {
	dir := disk(t, "size=1m")
	free := fill(t, dir)
	path := filepath.Join(dir, "ledger.db")
	if _, err := sqlite.OpenLedger(t.Context(), path, sqlite.Options{Notice: func(text string) { t.Error(text) }}); err == nil {
		t.Fatal("it was opened")
	} else {
		contains(t, err.Error(), "the ledger "+path, "Free space on the disk")
	}
	free()
	l, _ := openLedger(t, path)
	q := queueOver(l)
	sayYes(t, q, openQuestion(t, q, asked()))
	if a, err := q.Ask(t.Context(), asked(), nil); err != nil || !a.Allow || a.Scope != permission.Once {
		t.Errorf("%+v, %v", a, err)
	}
}

package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/flow"
	"github.com/usher-mcp/usher/internal/store/sqlite"
)

// security.md §8: what a damaged ledger knew of private data is unknown then, and not nothing; for as long as a client
// would have remembered it.
func TestTaintOfADamagedLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	begins := func() flow.Labels {
		l, err := sqlite.OpenLedger(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		s := flow.New(t.Context(), flow.Options{Store: l.Taints()}).Session("", "agent")
		defer s.Close()
		return s.Labels()
	}
	if got := begins(); got != 0 {
		t.Fatalf("a new ledger knows %v", got)
	}
	if err := os.WriteFile(path, make([]byte, 8000), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := begins(); got != flow.Untrusted|flow.Private {
		t.Errorf("after the damage a session begins with %v", got)
	}
	for _, name := range asides(t, path) {
		old := path + ".damaged-" + time.Now().Add(-2*time.Hour).UTC().Format("20060102T150405Z")
		if err := os.Rename(name, old); err != nil {
			t.Fatal(err)
		}
	}
	if got := begins(); got != 0 {
		t.Errorf("two hours later it begins with %v", got)
	}
}

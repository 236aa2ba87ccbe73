package config

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

const (
	childPath  = "USHER_CONFIG_TEST_PATH"
	childIndex = "USHER_CONFIG_TEST_INDEX"
	perWriter  = 12
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := addMany(path, "process-"+os.Getenv(childIndex)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func addMany(path, writer string) error {
	for i := range perWriter {
		if changed, err := AddRule(path, "allow", fmt.Sprintf("mcp.%s.%d", writer, i)); err != nil || !changed {
			return fmt.Errorf("%s: changed %v: %w", writer, changed, err)
		}
		tool := fmt.Sprintf("mcp.%s.%d", writer, i%2)
		if _, err := AddGrant(path, Grant{Tool: tool, Entry: hashA, Definition: hashB, Package: fmt.Sprint("npm:x@", i)}); err != nil {
			return fmt.Errorf("%s: %w", writer, err)
		}
	}
	return nil
}

// Goroutines and other processes write the same file, some through a link.
func TestConcurrentEditsLoseNothing(t *testing.T) {
	path := write(t, "{\n  // mine\n  \"mcpServers\": {}\n}\n")
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childPath+"="+[]string{path, link}[i%2], childIndex+"="+strconv.Itoa(i))
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, out)
			}
		})
	}
	for i := range 8 {
		wg.Go(func() {
			if err := addMany(path, fmt.Sprint("goroutine-", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	cfg, err := Load(path, nil)
	if err != nil || len(cfg.Problems) > 0 {
		t.Fatal(err, cfg)
	}
	seen := make(map[string]bool)
	for _, r := range cfg.Permissions.Allow {
		seen[r.Pattern] = true
	}
	if want := 12 * perWriter; len(seen) != want || len(cfg.Permissions.Allow) != want {
		t.Errorf("%d rules, %d different, want %d", len(cfg.Permissions.Allow), len(seen), want)
	}
	if want := 12 * 2; len(cfg.Permissions.Grants) != want {
		t.Errorf("%d grants, want %d", len(cfg.Permissions.Grants), want)
	}
}

package socket

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// leave makes a socket that nobody listens on.
func leave(t *testing.T, path string) {
	t.Helper()
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.(*listener).Listener.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
}

func deep(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100), strings.Repeat("e", 100))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "u.sock")
}

// Of several that start at once on a socket that was left behind, one gets it, and the others leave it alone; whatever
// the length of its path.
func TestRace(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "u.sock"), deep(t)} {
		for range 20 {
			leave(t, path)
			var won atomic.Pointer[net.Listener]
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					l, err := Listen(path)
					switch {
					case err == nil && !won.CompareAndSwap(nil, &l):
						t.Error("two got it")
					case err != nil && !errors.Is(err, ErrTaken):
						t.Error(err)
					}
				})
			}
			wg.Wait()
			l := *won.Load()
			if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Fatal(info, err)
			}
			if c, err := Dial(context.Background(), path); err != nil {
				t.Error(err)
			} else {
				if uid, err := PeerUID(c); err != nil || uid != os.Geteuid() {
					t.Error(uid, err)
				}
				_ = c.Close()
			}
			_ = l.Close()
			if _, err := os.Lstat(path); err == nil {
				t.Fatal("the socket was left behind")
			}
		}
	}
}

// A socket that somebody else has put in place of ours is not ours to remove.
func TestReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "u.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	_ = l.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
	if _, err := Listen(path); !errors.Is(err, ErrNotSocket) {
		t.Errorf("in place of a file: %v", err)
	}
}

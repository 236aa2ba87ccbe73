package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Of several ushers that start at once on a socket that was left behind, one gets it, and the others leave it alone.
func TestSocketRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "u.sock")
	for range 20 {
		stale, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		stale.(*net.UnixListener).SetUnlinkOnClose(false)
		_ = stale.Close()
		var won atomic.Pointer[net.Listener]
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				l, err := listenSocket("--listen", "unix://"+path)
				switch {
				case err == nil && !won.CompareAndSwap(nil, &l):
					t.Error("two got it")
				case err != nil && !strings.Contains(err.Error(), "is taken"):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		l := *won.Load()
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatal(info, err)
		}
		if c, err := net.Dial("unix", path); err != nil {
			t.Error(err)
		} else {
			_ = c.Close()
		}
		_ = l.Close()
		if _, err := os.Lstat(path); err == nil {
			t.Fatal("the socket was left behind")
		}
	}
}

// A socket that somebody else has put in place of ours is not ours to remove.
func TestSocketReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "u.sock")
	l, err := listenSocket("--listen", "unix://"+path)
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
}

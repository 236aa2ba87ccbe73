package many_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// deaths holds processes by descriptors, so that the moment of each one's end is seen.
type deaths struct{ fds, pids []int }

func watchDeaths(t *testing.T, pids []int) *deaths {
	t.Helper()
	d := &deaths{}
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		d.fds, d.pids = append(d.fds, fd), append(d.pids, pid)
	}
	return d
}

// wait returns when each process has ended; who lives after limit is missing.
func (d *deaths) wait(limit time.Duration) map[int]time.Time {
	ended := map[int]time.Time{}
	for end := time.Now().Add(limit); len(d.fds) > 0 && time.Now().Before(end); {
		polled := make([]unix.PollFd, len(d.fds))
		for i, fd := range d.fds {
			polled[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
		}
		_, _ = unix.Poll(polled, 50)
		now, fds, pids := time.Now(), d.fds, d.pids
		d.fds, d.pids = nil, nil
		for i, p := range polled {
			if p.Revents == 0 {
				d.fds, d.pids = append(d.fds, fds[i]), append(d.pids, pids[i])
				continue
			}
			ended[pids[i]] = now
			_ = unix.Close(fds[i])
		}
	}
	for _, fd := range d.fds {
		_ = unix.Close(fd)
	}
	return ended
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// heap is the bytes in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// childrenIn lists processes, also dead ones that nobody waited for, that are our children or run from dir.
func childrenIn(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		_, rest, _ := strings.Cut(string(stat), ") ")
		var state string
		var parent int
		_, _ = fmt.Sscan(rest, &state, &parent)
		if parent == os.Getpid() || strings.Contains(string(line), dir+"/") {
			all = append(all, fmt.Sprintf("%s (%s) %.60q", e.Name(), state, line))
		}
	}
	return all
}

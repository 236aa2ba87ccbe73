package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/usher-mcp/usher"
)

// hit is a fault and the calls that the server had at that moment.
type hit struct {
	Fault
	at  time.Time
	ids []string
}

// breakAll carries out the schedule.
func (w *world) breakAll(ctx context.Context) {
	defer close(w.hits)
	for _, f := range w.plan.Faults {
		if !pause(ctx, f.After) {
			return
		}
		w.breakOne(ctx, f)
	}
}

// breakOne misses a server that isn't there for too long.
func (w *world) breakOne(ctx context.Context, f Fault) {
	r := w.far[f.Server]
	command := f.Order
	if r != nil && !isOwn(f.Order) || f.Order == "stop" || isHosts(f.Order) {
		command = "await"
	}
	h := hit{Fault: f, at: time.Now()}
	said, ok := tell(ctx, w.o.control(f.Server), command, f.N)
	if !ok {
		return
	}
	h.ids = said.IDs
	switch {
	case f.Order == "stop":
		h.at = time.Now()
		_ = syscall.Kill(said.PID, syscall.SIGSTOP)
		pause(ctx, time.Duration(f.N)*time.Millisecond)
		_ = syscall.Kill(said.PID, syscall.SIGCONT)
	case isHosts(f.Order):
		h.at = time.Now()
		w.operate(ctx, f)
	case command == "await":
		h.at = time.Now()
		r.proxy.act(f.Order, f.N)
	}
	w.hits <- h
}

// isOwn tells what a remote server does itself from what its proxy does to it.
func isOwn(name string) bool {
	return name == "kill" || name == "hang" || name == "slow" || name == "mute"
}

func isHosts(name string) bool { return name == "restart" || name == "replace" || name == "remove" }

// operate does to a server what its operator may do at any time.
func (w *world) operate(ctx context.Context, f Fault) {
	at := slices.IndexFunc(w.servers, func(s usher.Server) bool { return s.Name == f.Server })
	switch f.Order {
	case "restart":
		limited, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		_ = w.host.Restart(limited, f.Server) // it may not come up: others break it, too
	case "replace":
		w.servers[at].Key += "'"
		w.apply(w.servers)
	case "remove":
		w.apply(slices.Delete(slices.Clone(w.servers), at, at+1))
		pause(ctx, time.Duration(f.N)*time.Millisecond)
		w.apply(w.servers)
	}
}

func (w *world) apply(servers []usher.Server) {
	if _, err := w.host.Apply(servers); err != nil {
		w.problems = append(w.problems, "Apply: "+err.Error())
	}
}

// report is what the server says before it fails.
type report struct {
	PID int
	IDs []string
}

// tell tells one of the server's processes what to do. There may be many, also dead ones; while there is none it waits.
func tell(ctx context.Context, dir, command string, n int) (report, bool) {
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		sockets, _ := filepath.Glob(filepath.Join(dir, "at.*"))
		for _, path := range sockets {
			conn, err := net.Dial("unix", path)
			if err != nil {
				_ = os.Remove(path) // nobody is behind it any more
				continue
			}
			said, err := ask(conn, command, n)
			if err == nil {
				return said, true
			}
		}
		if !pause(ctx, 2*time.Millisecond) {
			break
		}
	}
	return report{}, false
}

func ask(conn net.Conn, command string, n int) (said report, err error) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(500 * time.Millisecond)) // it may be stopped
	if _, err := fmt.Fprintf(conn, "%s %d\n", command, n); err != nil {
		return said, err
	}
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		return said, err
	}
	return said, json.Unmarshal(line, &said)
}

// pause waits; false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

package chaos

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
)

// remote is a server that somebody else runs: here a process that is started again at once when it ends, behind a proxy.
type remote struct {
	proxy   *proxy
	program string
	args    []string
	done    chan struct{}

	mu     sync.Mutex
	cmd    *exec.Cmd
	stdin  io.Closer
	ending bool
}

func startRemote(program string, args []string) (*remote, error) {
	p, err := newProxy()
	if err != nil {
		return nil, err
	}
	r := &remote{proxy: p, program: program, args: args, done: make(chan struct{})}
	if err := r.start(); err != nil {
		p.close()
		return nil, err
	}
	go r.keep()
	return r, nil
}

// start returns when the server listens. The proxy follows it to its new address.
func (r *remote) start() error {
	cmd := exec.Command(r.program, r.args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r.mu.Lock()
	r.cmd, r.stdin = cmd, stdin
	if r.ending {
		_ = stdin.Close()
	}
	r.mu.Unlock()
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		return fmt.Errorf("%s said no address: %w", r.program, err)
	}
	r.proxy.pointTo(strings.TrimSpace(addr))
	return nil
}

func (r *remote) keep() {
	defer close(r.done)
	for {
		_ = r.cmd.Wait()
		r.mu.Lock()
		ending := r.ending
		r.mu.Unlock()
		if ending || r.start() != nil {
			return
		}
	}
}

func (r *remote) close() {
	r.mu.Lock()
	r.ending = true
	_ = r.stdin.Close()
	r.mu.Unlock()
	<-r.done
	r.proxy.close()
}

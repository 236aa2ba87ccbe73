package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// patience is how long a fault waits for a call that it can hit.
const patience = 60 * time.Millisecond

// report is what the server says before it fails: which calls it had.
type report struct {
	PID int
	IDs []string
}

// listenControl takes orders at a socket that is named after this process: a line such as "kill 0" each. It waits until
// a call is in flight, says which, and obeys.
func listenControl(dir string, c *core, act func(order string, n int) bool) error {
	if dir == "" {
		return nil
	}
	pid := strconv.Itoa(os.Getpid())
	early := filepath.Join(dir, "early."+pid)
	l, err := net.Listen("unix", early)
	if err != nil {
		return err
	}
	if err := os.Rename(early, filepath.Join(dir, "at."+pid)); err != nil { // now it listens
		return err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			obey(conn, c, act)
		}
	}()
	return nil
}

func obey(conn net.Conn, c *core, act func(order string, n int) bool) {
	defer conn.Close()
	var order string
	var n int
	if _, err := fmt.Fscanln(bufio.NewReader(conn), &order, &n); err != nil {
		return
	}
	said, _ := json.Marshal(report{os.Getpid(), c.inFlight(patience)})
	if _, err := conn.Write(append(said, '\n')); err != nil || act(order, n) {
		return
	}
	ms := time.Duration(n) * time.Millisecond
	switch order {
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "exit":
		fmt.Fprintln(os.Stderr, "exiting as told")
		os.Exit(n)
	case "hang":
		c.hang(ms, 0)
	case "slow":
		c.hang(5*ms, ms)
	case "mute":
		c.mu.Lock()
		c.mute, c.deaf = n, time.Now().Add(patience)
		c.mu.Unlock()
	}
}

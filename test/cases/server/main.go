// Command server is an MCP server over stdio that misbehaves as those in public reports of failures do, and writes down what
// happens to it: a line of what, its pid and a detail for each thing in the file -journal.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	journal = flag.String("journal", "", "file that gets a line for each thing that happens")
	greet   = flag.Duration("greet", 0, "how long it takes to answer the handshake")
	deaf    = flag.Bool("deaf", false, "end neither on a signal nor at the end of the input")
	brood   = flag.Bool("brood", false, "start a process that leaves the group and the session, and ends on no signal")
	lock    = flag.String("lock", "", "file that only one of us may have; the others end at once")
	exit    = flag.Int("exit", -1, "end at once with this code")
)

func main() {
	flag.Parse()
	for _, pid := range others() {
		note("beside", strconv.Itoa(pid))
	}
	note("start", "")
	if *exit >= 0 {
		fmt.Fprintln(os.Stderr, "API_KEY is not set")
		os.Exit(*exit)
	}
	if *lock != "" {
		f, err := os.OpenFile(*lock, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil || syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			fmt.Fprintln(os.Stderr, "the profile is in use")
			os.Exit(1)
		}
		defer f.Close()
	}
	if *brood {
		startBrood()
	}
	if *deaf {
		signals := make(chan os.Signal, 8)
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		go func() {
			for s := range signals {
				note("signal", s.String())
			}
		}()
	}
	(&server{out: os.Stdout, waiting: map[string]string{}}).serve()
	note("eof", "")
	if *deaf {
		select {}
	}
}

// note writes a line; what a process appends at once stays together.
func note(what, detail string) {
	f, err := os.OpenFile(*journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%s %d %s\n", what, os.Getpid(), detail); err != nil {
		panic(err)
	}
}

// others are processes before this one that wrote into the same journal and still run.
func others() (pids []int) {
	b, err := os.ReadFile(*journal)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		var pid int
		if _, err := fmt.Sscanf(line, "start %d", &pid); err != nil || pid == os.Getpid() {
			continue
		}
		if cmd, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); err == nil && strings.Contains(string(cmd), *journal) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func startBrood() {
	cmd := exec.Command("sh", "-c", "trap '' INT TERM HUP; sleep 3600")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // holds the pipes open, too
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	note("brood", strconv.Itoa(cmd.Process.Pid))
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

// server reads in one goroutine, which has all fields to itself.
type server struct {
	mu      sync.Mutex // held while writing
	out     *os.File
	counted int
	grown   int
	heavy   int
	waiting map[string]string // id of a request that isn't answered → its text
}

func (s *server) send(m message) {
	m.JSONRPC = "2.0"
	line, _ := json.Marshal(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(append(line, '\n'))
}

func (s *server) serve() {
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) == nil {
			s.take(m)
		}
	}
}

func (s *server) take(m message) {
	switch m.Method {
	case "initialize":
		note("initialize", "")
		time.Sleep(*greet)
		s.send(message{ID: m.ID, Result: map[string]any{
			"protocolVersion": "2025-11-25", "serverInfo": map[string]any{"name": "cases", "version": "1"},
			"capabilities": map[string]any{"tools": map[string]any{"listChanged": true}},
		}})
	case "tools/list":
		s.list(m)
	case "tools/call":
		s.call(m)
	case "notifications/cancelled":
		var p struct{ RequestID json.RawMessage }
		_ = json.Unmarshal(m.Params, &p)
		text, waits := s.waiting[string(p.RequestID)]
		note("cancelled", text)
		if waits && text != "mute" { // too late, as a server does that was just about to answer
			delete(s.waiting, string(p.RequestID))
			s.answer(p.RequestID, "late")
		}
	case "ping":
		s.send(message{ID: m.ID, Result: struct{}{}})
	default:
		if m.ID != nil {
			s.send(message{ID: m.ID, Error: map[string]any{"code": -32601, "message": "Method not found"}})
		}
	}
}

// list has two tools on each page.
func (s *server) list(m message) {
	names := []string{"echo", "count", "wait", "leave", "grow"}
	for n := range s.grown {
		names = append(names, fmt.Sprintf("grown_%d", n+1))
	}
	var p struct{ Cursor string }
	_ = json.Unmarshal(m.Params, &p)
	note("list", p.Cursor)
	from, _ := strconv.Atoi(p.Cursor)
	to := min(from+2, len(names))
	tools := []any{}
	for _, name := range names[from:to] {
		tools = append(tools, map[string]any{
			"name": name, "inputSchema": map[string]any{"type": "object"}, "annotations": map[string]any{"readOnlyHint": true},
		})
	}
	result := map[string]any{"tools": tools}
	if to < len(names) {
		result["nextCursor"] = strconv.Itoa(to)
	}
	s.send(message{ID: m.ID, Result: result})
}

func (s *server) call(m message) {
	var p struct {
		Name      string
		Arguments struct{ Text string }
	}
	_ = json.Unmarshal(m.Params, &p)
	note("call", p.Name+" "+p.Arguments.Text)
	switch p.Name {
	case "count":
		s.counted++
		s.answer(m.ID, strconv.Itoa(s.counted))
	case "wait":
		s.waiting[string(m.ID)] = p.Arguments.Text
	case "leave": // as one that three heavy calls at once are too much for
		if s.heavy++; s.heavy == 3 {
			os.Exit(0)
		}
	case "grow": // in a burst
		for range 3 {
			s.grown++
			s.send(message{Method: "notifications/tools/list_changed"})
		}
		s.answer(m.ID, "grown")
	default:
		s.answer(m.ID, p.Arguments.Text)
	}
}

func (s *server) answer(id json.RawMessage, text string) {
	s.send(message{ID: id, Result: map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}})
}

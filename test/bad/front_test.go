package bad_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// front is a running `usher serve` or `usher stdio` with a client that has shaken hands. ask may be called by many.
type front struct {
	w      *world
	url    string // of serve
	cmd    *exec.Cmd
	stderr *bytes.Buffer // not to be read before end
	ask    func(t *testing.T, id int, line []byte) answer
	stop   func()

	mu sync.Mutex
	id int
}

// fronts are the two ways that a client takes.
var fronts = []struct {
	name string
	open func(*world, *testing.T) *front
}{{"http", (*world).serve}, {"stdio", (*world).stdio}}

// answer is an answer of JSON-RPC.
type answer struct {
	status int // of HTTP; 0 over stdio
	ID     json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
	Result *struct {
		IsError bool
		Content []struct{ Text string }
	}
}

// text is what the agent reads.
func (a answer) text() string {
	switch {
	case a.Error != nil:
		return a.Error.Message
	case a.Result != nil && len(a.Result.Content) > 0:
		return a.Result.Content[0].Text
	}
	return ""
}

// good reports whether a tool answered with a text and no failure.
func (a answer) good(text string) bool {
	return a.Error == nil && a.Result != nil && !a.Result.IsError && a.text() == text
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bad","version":"1"}}}`

func callLine(id int, tool, args string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

func (f *front) next() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.id++
	return f.id
}

// call calls a tool by its name for models.
func (f *front) call(t *testing.T, tool, args string) answer {
	t.Helper()
	id := f.next()
	return f.ask(t, id, callLine(id, tool, args))
}

// goodWorks calls the server that works.
func (f *front) goodWorks(t *testing.T) {
	t.Helper()
	if a := f.call(t, "mcp__good__echo", `{"text":"still here","id":"good"}`); !a.good("still here") {
		t.Errorf("the good server answered %q", a.text())
	}
}

// end stops usher as its user does and returns its exit code and what it said.
func (f *front) end(t *testing.T) (code int, stderr string) {
	t.Helper()
	f.stop()
	_ = f.cmd.Wait()
	return f.cmd.ProcessState.ExitCode(), f.stderr.String()
}

// orderly ends a front that has nothing to complain about, and checks the world.
func (f *front) orderly(t *testing.T) {
	t.Helper()
	if code, stderr := f.end(t); code != 0 {
		t.Errorf("usher ended with exit code %d: %s", code, stderr)
	}
	f.w.check(t)
}

func (w *world) start(t *testing.T, args ...string) (*front, *bufio.Reader, io.WriteCloser) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	f := &front{w: w, cmd: w.command(ctx, args...), stderr: new(bytes.Buffer)}
	f.cmd.Stderr = f.stderr
	in, err := f.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return f, bufio.NewReader(out), in
}

// serve starts the gateway over HTTP.
func (w *world) serve(t *testing.T) *front {
	t.Helper()
	f, out, _ := w.start(t, "serve", "--listen", "127.0.0.1:0", "--json")
	f.stop = func() { _ = f.cmd.Process.Signal(syscall.SIGTERM) }
	line, err := out.ReadBytes('\n')
	var at struct{ URL string }
	if err != nil || json.Unmarshal(line, &at) != nil {
		_, stderr := f.end(t)
		t.Fatalf("usher serve: %v %q\n%s", err, line, stderr)
	}
	f.url = at.URL
	session := ""
	f.ask = func(t *testing.T, _ int, line []byte) answer {
		t.Helper()
		status, header, body := post(t, at.URL, session, line)
		if s := header.Get("Mcp-Session-Id"); s != "" {
			session = s
		}
		return decode(t, status, body)
	}
	f.ask(t, 0, []byte(hello))
	return f
}

func post(t *testing.T, url, session string, body []byte) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, nil, nil
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, nil, nil
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.StatusCode, res.Header, answer
}

func decode(t *testing.T, status int, line []byte) answer {
	t.Helper()
	a := answer{status: status}
	if err := json.Unmarshal(line, &a); err != nil {
		t.Errorf("not an answer: %v: %q", err, line)
	}
	return a
}

// stdio starts the gateway over standard input and output.
func (w *world) stdio(t *testing.T) *front {
	t.Helper()
	f, out, in := w.start(t, "stdio")
	m := &mux{waiting: map[string]chan []byte{}, in: in}
	read := make(chan struct{})
	go func() { defer close(read); m.read(out) }()
	f.stop = func() { _ = in.Close(); <-read }
	f.ask = func(t *testing.T, id int, line []byte) answer {
		t.Helper()
		got, ok := <-m.send(fmt.Sprint(id), line)
		if !ok {
			t.Error("usher stdio ended without an answer")
			return answer{}
		}
		return decode(t, 0, got)
	}
	f.ask(t, 0, []byte(hello))
	return f
}

// mux gives each answer to whoever asked. One without an id goes to whoever waits for "null".
type mux struct {
	write sync.Mutex
	in    io.Writer

	mu      sync.Mutex
	waiting map[string]chan []byte // nil once the output has ended
}

func (m *mux) send(id string, line []byte) <-chan []byte {
	c := make(chan []byte, 1)
	m.mu.Lock()
	if m.waiting == nil {
		m.mu.Unlock()
		close(c)
		return c
	}
	m.waiting[id] = c
	m.mu.Unlock()
	m.write.Lock()
	defer m.write.Unlock()
	_, _ = m.in.Write(append(bytes.Clone(line), '\n')) // where it fails the output ends too
	return c
}

func (m *mux) read(out *bufio.Reader) {
	for {
		line, err := out.ReadBytes('\n')
		if err != nil {
			break
		}
		var a struct{ ID json.RawMessage }
		_ = json.Unmarshal(line, &a)
		m.mu.Lock()
		if c := m.waiting[strings.TrimSpace(string(a.ID))]; c != nil {
			c <- line
			delete(m.waiting, string(a.ID))
		}
		m.mu.Unlock()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.waiting {
		close(c)
	}
	m.waiting = nil
}

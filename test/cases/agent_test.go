package cases_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cases","version":"1"}}}`

// answer is an answer of JSON-RPC, or a notification.
type answer struct {
	ID     json.RawMessage
	Method string
	Error  *struct{ Message string }
	Result *struct {
		IsError bool
		Content []struct{ Text string }
		Tools   []struct{ Name string }
	}
}

// text is what the agent reads of a call.
func (a answer) text() string {
	switch {
	case a.Error != nil:
		return a.Error.Message
	case a.Result != nil && len(a.Result.Content) > 0:
		return a.Result.Content[0].Text
	}
	return ""
}

func (a answer) good() bool { return a.Error == nil && a.Result != nil && !a.Result.IsError }

// names are the tools of a listing, without Usher's own.
func (a answer) names() (all []string) {
	if a.Result != nil {
		for _, tool := range a.Result.Tools {
			if strings.HasPrefix(tool.Name, "mcp__") {
				all = append(all, tool.Name)
			}
		}
	}
	slices.Sort(all)
	return all
}

func callParams(tool, text string) string {
	return fmt.Sprintf(`{"name":%q,"arguments":{"text":%q}}`, tool, text)
}

// gate is a running usher.
type gate struct {
	w      *world
	url    string // of serve
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bytes.Buffer // not to be read before end
}

func (w *world) start(t *testing.T, args ...string) *gate {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	g := &gate{w: w, cmd: w.command(ctx, args...), stderr: new(bytes.Buffer)}
	g.cmd.Stderr = g.stderr
	var err error
	if g.in, err = g.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	g.out = bufio.NewReader(out)
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = g.cmd.Wait() })
	return g
}

func (w *world) serve(t *testing.T) *gate {
	t.Helper()
	g := w.start(t, "serve", "--listen", "127.0.0.1:0", "--json")
	line, err := g.out.ReadBytes('\n')
	var at struct{ URL string }
	if err != nil || json.Unmarshal(line, &at) != nil {
		_ = g.cmd.Wait()
		t.Fatalf("usher serve: %v %q\n%s", err, line, g.stderr)
	}
	g.url = at.URL
	return g
}

// end sends usher a signal and waits for its end. SIGKILL apart, that must be a good one.
func (g *gate) end(t *testing.T, s syscall.Signal) {
	t.Helper()
	_ = g.cmd.Process.Signal(s)
	if err := g.cmd.Wait(); err != nil && s != syscall.SIGKILL {
		t.Errorf("usher ended with %v: %s", err, g.stderr)
	}
}

// stop ends usher, after which nothing is left.
func (g *gate) stop(t *testing.T) {
	t.Helper()
	g.end(t, syscall.SIGTERM)
	g.w.noneLeft(t)
}

// agent is a client of usher serve, with a session of its own.
type agent struct {
	url, session string
	mu           sync.Mutex
	id           int
}

func (g *gate) agent(t *testing.T) *agent {
	t.Helper()
	a := &agent{url: g.url}
	header, got := a.post(t, http.MethodPost, hello)
	if a.session = header.Get("Mcp-Session-Id"); a.session == "" || !got.good() {
		t.Fatalf("initialize: %+v", got)
	}
	return a
}

func (a *agent) post(t *testing.T, method, body string) (header http.Header, got answer) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, a.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if a.session != "" {
		req.Header.Set("Mcp-Session-Id", a.session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return nil, got
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	if len(b) > 0 && json.Unmarshal(b, &got) != nil {
		t.Errorf("not an answer: %d %q", res.StatusCode, b)
	}
	return res.Header, got
}

func (a *agent) ask(t *testing.T, method, params string) answer {
	t.Helper()
	a.mu.Lock()
	a.id++
	id := a.id
	a.mu.Unlock()
	_, got := a.post(t, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	return got
}

func (a *agent) call(t *testing.T, tool, text string) answer {
	t.Helper()
	return a.ask(t, "tools/call", callParams(tool, text))
}

// says wants a call to be answered with a text.
func (a *agent) says(t *testing.T, tool, text, want string) {
	t.Helper()
	if got := a.call(t, tool, text); !got.good() || got.text() != want {
		t.Errorf("%s answered %q, want %q", tool, got.text(), want)
	}
}

func (a *agent) list(t *testing.T) []string {
	t.Helper()
	return a.ask(t, "tools/list", "{}").names()
}

// leave ends the session.
func (a *agent) leave(t *testing.T) { a.post(t, http.MethodDelete, "") }

// piped is a client of usher stdio.
type piped struct {
	*gate
	read chan struct{} // closed when usher says no more

	mu      sync.Mutex
	waiting map[string]chan answer
	told    map[string]int // notifications by method
}

func (w *world) stdio(t *testing.T) *piped {
	t.Helper()
	p := &piped{gate: w.start(t, "stdio"), read: make(chan struct{}), waiting: map[string]chan answer{}, told: map[string]int{}}
	go p.listen()
	if got := <-p.send("0", hello); !got.good() {
		t.Fatalf("initialize: %+v", got)
	}
	p.tell("notifications/initialized", "{}")
	return p
}

func (p *piped) listen() {
	defer close(p.read)
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			break
		}
		var a answer
		_ = json.Unmarshal(line, &a)
		p.mu.Lock()
		p.told[a.Method]++
		if c := p.waiting[string(a.ID)]; a.ID != nil && a.Method == "" && c != nil {
			c <- a
			delete(p.waiting, string(a.ID))
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.waiting {
		close(c)
	}
	p.waiting = map[string]chan answer{}
}

// send sends a request; its answer comes, or the channel is closed at the end of usher.
func (p *piped) send(id, line string) <-chan answer {
	c := make(chan answer, 1)
	p.mu.Lock()
	p.waiting[id] = c
	p.mu.Unlock()
	_, _ = io.WriteString(p.in, line+"\n")
	return c
}

func (p *piped) ask(id int, method, params string) <-chan answer {
	return p.send(fmt.Sprint(id), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
}

func (p *piped) tell(method, params string) {
	_, _ = fmt.Fprintf(p.in, `{"jsonrpc":"2.0","method":%q,"params":%s}`+"\n", method, params)
}

func (p *piped) heard(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told[method]
}

// close ends usher by the end of its input.
func (p *piped) close(t *testing.T) {
	t.Helper()
	_ = p.in.Close()
	<-p.read
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("usher ended with %v: %s", err, p.stderr)
	}
	p.w.noneLeft(t)
}

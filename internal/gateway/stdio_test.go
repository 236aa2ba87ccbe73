package gateway

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/mcp"
)

// pipe is a client on the other end of ServeStdio.
type pipe struct {
	t     testing.TB
	in    *io.PipeWriter
	lines chan string
	ended chan error
}

func (w *world) pipe() *pipe {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &pipe{t: w.t, in: inW, lines: make(chan string, 100), ended: make(chan error, 1)}
	go func() {
		p.ended <- w.ServeStdio(w.t.Context(), inR, outW)
		_ = outW.Close()
	}()
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(outR); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	w.t.Cleanup(func() { _ = inW.Close() })
	return p
}

func (p *pipe) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pipe) ask(line string) string {
	p.t.Helper()
	p.say(line)
	return receive(p.t, p.lines)
}

// O1, case-220: a legacy client on stdio, which is told when the tools change.
func TestStdioLegacy(t *testing.T) {
	w := newWorld(t, Options{})
	p := w.pipe()
	want := `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"usher","version":"` + w.o.Info.Version + `"}}}`
	if diff := cmp.Diff(want, p.ask(hello)); diff != "" {
		t.Error(diff)
	}
	p.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if got := p.ask(call("1", "odd", `{}`)); got != `{"jsonrpc":"2.0","id":1,"result":`+oddResult+`}` {
		t.Error(got)
	}
	if got := p.ask(`{"jsonrpc":"2.0","id":2,"method":"prompts/list"}`); mcp.Text(mcp.Path([]byte(got), "error", "message")) != "no method prompts/list" {
		t.Error(got)
	}
	got := []string{p.ask(steps), receive(t, p.lines), receive(t, p.lines), receive(t, p.lines)}
	if !strings.Contains(got[0], `{"progressToken":"t\u002F1","progress":1}`) || !strings.Contains(got[3], `"id":1,"result"`) {
		t.Error(got)
	}
	p.say(call("3", "grow", `{}`))
	if got := []string{receive(t, p.lines), receive(t, p.lines)}; !slices.Contains(got, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`) {
		t.Error(got)
	}
	if got := p.ask(listTools); !strings.Contains(got, "mcp__up__late") {
		t.Error(got)
	}
	p.say(call("5", "wait", `{"id":"c"}`))
	receive(t, w.up.started)
	p.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
	receive(t, w.up.cancelled)
	if got := p.ask(`{"jsonrpc":"2.0","id":6,"method":"ping"}`); got != `{"jsonrpc":"2.0","id":6,"result":{}}` {
		t.Error(got)
	}
	_ = p.in.Close()
	if err := receive(t, p.ended); err != nil {
		t.Error(err)
	}
	names := w.log.sessions()
	if len(names) != 1 {
		t.Fatal(names)
	}
	events := w.log.Events(names[0])
	if got := string(events[1].Data); got != `{"via":"stdio","name":"test","version":"1","era":"legacy"}` {
		t.Error(got)
	}
	if got := string(events[len(events)-1].Data); got != `{"reason":"disconnected"}` {
		t.Error(got)
	}
}

// O1: a modern client on stdio, and what a request without `_meta` gets before a handshake.
func TestStdioModern(t *testing.T) {
	w := newWorld(t, Options{})
	p := w.pipe()
	if got := p.ask(listTools); string(mcp.Path([]byte(got), "error", "code")) != "-32602" || !strings.Contains(got, "initialize") {
		t.Error(got)
	}
	discover, _ := modern(mcp.MethodDiscover, "")
	if got := p.ask(discover); !strings.Contains(got, `"supportedVersions":["2026-07-28"]`) || !strings.Contains(got, `"listChanged":false`) {
		t.Error(got)
	}
	odd, _ := modern(mcp.MethodCallTool, `"name":"mcp__up__odd","arguments":{}`)
	if got := p.ask(odd); got != `{"jsonrpc":"2.0","id":1,"result":`+oddResult[:len(oddResult)-1]+`,"_meta":`+string(w.words.meta)+`}}` {
		t.Error(got)
	}
	wrong := strings.Replace(odd, "2026-07-28", "2030-01-01", 1)
	if got := p.ask(wrong); string(mcp.Path([]byte(got), "error", "code")) != "-32022" {
		t.Error(got)
	}
	// The same process takes the other era as well.
	if got := p.ask(hello); !strings.Contains(got, `"protocolVersion":"2025-06-18"`) {
		t.Error(got)
	}
	if got := p.ask(listTools); strings.Contains(got, "ttlMs") || !strings.Contains(got, `"tools":[`) {
		t.Error(got)
	}
	_ = p.in.Close()
	if err := receive(t, p.ended); err != nil {
		t.Error(err)
	}
}

// A script writes all its lines at once and closes.
func TestStdioScript(t *testing.T) {
	for range 50 {
		w := newWorld(t, Options{})
		var out strings.Builder
		in := strings.NewReader(hello + "\n" + call("2", "echo", `{"id":"s"}`) + "\n")
		if err := w.ServeStdio(t.Context(), in, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), `"text":"done s"`) || !strings.Contains(out.String(), `"id":0,"result"`) {
			t.Fatal(out.String())
		}
		if got := string(w.log.Events(w.log.sessions()[0])[0].Data); got != `{"kind":"gateway","client":"test/1"}` {
			t.Fatal(got)
		}
	}
}

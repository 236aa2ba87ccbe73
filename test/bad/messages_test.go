package bad_test

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
)

const servers = `{"mcpServers": {
  GOOD,
  "broken": {"command": SERVER, "args": ["-broken"]},
  "mute": {"command": SERVER, "args": ["-broken"], "callTimeout": "400ms"},
  "gone": {"command": "no-such-program"},
  "quits": {"command": SERVER, "args": ["-exit", "3"]},
  "silent": {"command": SERVER, "args": ["-silent"], "startTimeout": "300ms"},
}}`

const toolFailed = 0 // in place of a JSON-RPC code: a result with isError, as a model can do something about it

// clientSide is what a client sends to the good server and must not get there.
var clientSide = []struct {
	name, tool, args string
	codes            []int // of JSON-RPC, either one
	want             []string
}{
	{"keys twice at depth", "mcp__good__echo", `{"id":"bad","more":{"a":[{"c":1,"c":2}]}}`, []int{-32700, -32600},
		[]string{`duplicate object member name "c"`, "/params/arguments/more/a/0"}},
	{"invalid UTF-8", "mcp__good__echo", "{\"id\":\"bad\",\"text\":\"\xff\xfe\"}", []int{-32700, -32600},
		[]string{"invalid UTF-8", "/params/arguments/text"}},
	{"200 deep", "mcp__good__echo", `{"id":"bad","more":` + deepList + `}`, []int{-32700, -32600}, []string{"nested deeper than 128 levels"}},
	{"unknown tool", "mcp__good__eco", `{"id":"bad"}`, []int{-32602}, []string{"mcp__good__eco", "did you mean mcp__good__echo"}},
	{"unknown server", "mcp__god__echo", `{"id":"bad"}`, []int{-32602}, []string{"mcp__god__echo", "did you mean mcp__good__echo"}},
	{"wrong type", "mcp__good__echo", `{"id":"bad","text":7}`, []int{toolFailed},
		[]string{"mcp.good.echo: wrong arguments: text: must be a string", "Correct the arguments"}},
	{"missing argument", "mcp__good__get_issue", `{"id":"bad"}`, []int{toolFailed}, []string{"mcp.good.get_issue: wrong arguments: key"}},
	{"a tool that a server and a built-in have", "read_file", `{"id":"bad","path":"x"}`, []int{-32602},
		[]string{`"read_file" could mean several tools; call one by its full name`, "local.read_file", "mcp.good.read_file"}},
}

// serverSide is what servers do to a call.
var serverSide = []struct {
	name, tool, text string
	want             []string
}{
	{"keys twice at depth", "mcp__broken__echo", "duplicate", []string{"mcp.broken.echo failed: server broken broke the protocol", `duplicate object member name "c"`}},
	{"invalid UTF-8", "mcp__broken__echo", "utf8", []string{"server broken broke the protocol", "invalid UTF-8"}},
	{"200 deep", "mcp__broken__echo", "deep", []string{"server broken broke the protocol", "nested deeper than 128 levels"}},
	{"no answer", "mcp__mute__echo", "never", []string{"server mute did not answer in time", "no answer and no progress for 0.4 s"}},
	{"no such command", "mcp__gone__echo", "x", []string{"server gone can't be reached", `start "no-such-program": command not found: install it`}},
	{"ends at once", "mcp__quits__echo", "x", []string{"server quits can't be reached", "exit status 3; its last words: JIRA_TOKEN is not set"}},
	{"never starts", "mcp__silent__echo", "x", []string{"server silent can't be reached", "it didn't answer within 0.3 s"}},
}

// B1, D6, E2: each bad message fails itself only, through both fronts.
func TestBadMessages(t *testing.T) {
	for _, front := range fronts {
		t.Run(front.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.configure(t, servers)
			f := front.open(w, t)
			f.goodWorks(t)
			if n := len(w.running()); n < 4 { // or noProcess says nothing
				t.Fatalf("only %d processes of usher are found: %q", n, w.running())
			}
			for _, test := range clientSide {
				t.Run("client/"+test.name, func(t *testing.T) {
					id := f.next()
					f.failed(t, f.ask(t, id, callLine(id, test.tool, test.args)), test.codes, test.want)
				})
			}
			for _, test := range serverSide {
				t.Run("server/"+test.name, func(t *testing.T) {
					f.failed(t, f.call(t, test.tool, fmt.Sprintf(`{"text":%q}`, test.text)), []int{toolFailed}, test.want)
					if test.text != "x" { // the server lives
						f.works(t, test.tool, "its next call")
					}
				})
			}
			f.works(t, "mcp__good__read_file", "by its full name")
			if a := f.call(t, "local__read_file", `{"path":"mcp.config.json"}`); a.Error != nil || a.Result.IsError {
				t.Errorf("the built-in read_file answered %q", a.text())
			}
			// One good call before, one behind each bad one, and read_file.
			if got, want := w.calls(t), 1+len(clientSide)+len(serverSide)+1; got != want {
				t.Errorf("%d calls reached the good server, want %d", got, want)
			}
			f.orderly(t)
		})
	}
}

// failed checks the answer to a bad call, and that the good server still answers.
func (f *front) failed(t *testing.T, a answer, codes []int, want []string) {
	t.Helper()
	code := toolFailed
	if a.Error != nil {
		code = a.Error.Code
	} else if a.Result == nil || !a.Result.IsError {
		t.Errorf("no failure: %q", a.text())
	}
	found := false
	for _, c := range codes {
		found = found || c == code
	}
	if !found {
		t.Errorf("JSON-RPC code %d, want one of %v", code, codes)
	}
	contains(t, a.text(), want...)
	f.goodWorks(t)
}

func (f *front) works(t *testing.T, tool, text string) {
	t.Helper()
	if a := f.call(t, tool, fmt.Sprintf(`{"text":%q,"id":"good"}`, text)); !a.good(text) {
		t.Errorf("%s answered %q", tool, a.text())
	}
}

// N3, D6: the same at the command line, with exit codes and what to do next.
func TestBadCalls(t *testing.T) {
	tests := []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"server sends keys twice", []string{"mcp.broken.echo", "text=duplicate"}, 5, []string{"duplicate object member", " doctor broken"}},
		{"server sends invalid UTF-8", []string{"mcp.broken.echo", "text=utf8"}, 5, []string{"invalid UTF-8", " doctor broken"}},
		{"server sends 200 levels", []string{"mcp.broken.echo", "text=deep"}, 5, []string{"nested deeper than 128", " doctor broken"}},
		{"server sends 100 MB", []string{"mcp.broken.echo", "text=long"}, 5, []string{"the answer of server broken is too large", "longer than 16 MiB"}},
		{"server never answers", []string{"mcp.mute.echo", "text=never"}, 6, []string{"server mute did not answer in time", `"callTimeout"`}},
		{"server never starts", []string{"mcp.silent.echo", "text=x"}, 6, []string{"server silent did not answer in time", `"startTimeout"`}},
		{"no such command", []string{"mcp.gone.echo", "text=x"}, 5, []string{`"no-such-program": command not found: install it`, " doctor gone"}},
		{"ends at once", []string{"mcp.quits.echo", "text=x"}, 5, []string{"exit status 3", "JIRA_TOKEN is not set", " doctor quits"}},
		{"unknown tool", []string{"mcp.good.eco", "text=x"}, 2, []string{"did you mean mcp.good.echo"}},
		{"wrong type", []string{"mcp.good.echo", "id=bad", "text:=7"}, 2, []string{"text: must be a string", " tools mcp.good.echo"}},
		{"keys twice", []string{"mcp.good.echo", "--args", `{"id":"bad","a":{"b":1,"b":2}}`}, 2, []string{`duplicate object member name "b"`}},
		{"200 levels", []string{"mcp.good.echo", "--args", `{"id":"bad","a":` + deepList + `}`}, 2, []string{"nested deeper than 128"}},
		{"invalid UTF-8", []string{"mcp.good.echo", "--args", "{\"id\":\"bad\",\"a\":\"\xff\"}"}, 2, []string{"invalid UTF-8"}},
		{"ambiguous", []string{"read_file", "path=x", "id=bad"}, 2, []string{"could mean several tools", "local.read_file", "mcp.good.read_file"}},
	}
	w := newWorld(t)
	w.configure(t, servers)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w.fails(t, test.code, test.want, append([]string{"call"}, test.args...)...)
		})
	}
	w.goodWorks(t)
	if n := w.calls(t); n != 1 {
		t.Errorf("%d calls reached the good server, want 1", n)
	}
	w.check(t)
}

// A message of a client that is longer than any may be is refused, and the client goes on.
func TestLongMessage(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte("x"), 100_000_000)
	w := newWorld(t)
	w.configure(t, servers)
	f := w.stdio(t)
	id := f.next()
	a := f.ask(t, id, callLine(id, "mcp__good__echo", `{"id":"bad","text":"`+string(long)+`"}`))
	f.failed(t, a, []int{-32600}, []string{"longer than 16 MiB"})
	f.orderly(t)

	f = w.serve(t)
	contains(t, announce(t, f.url), "413 Request Entity Too Large", "longer than 16 MiB")
	f.goodWorks(t)
	w.calls(t)
	f.orderly(t)
}

// announce says that 100 MB come and returns what is answered before a byte of them.
func announce(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n", u.Path, u.Host)
	var got strings.Builder
	part := make([]byte, 4096)
	for err == nil {
		var n int
		n, err = c.Read(part)
		got.Write(part[:n])
	}
	return got.String()
}

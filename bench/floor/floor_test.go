package floor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// echoEnv makes this test binary the stdio server that the tests start.
const echoEnv = "USHER_FLOOR_ECHO"

func TestMain(m *testing.M) {
	if os.Getenv(echoEnv) != "" {
		echo()
		return
	}
	goleak.VerifyTestMain(m)
}

// echo answers each request with its own params, after a line that is not
// JSON, a notification and a request of its own whose id a client may use too.
// It ends when asked for the method "die".
func echo() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, MaxMessage)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m.Method == "die" {
			os.Exit(3)
		}
		if m.ID == nil {
			continue
		}
		fmt.Printf("banner\n"+`{"jsonrpc":"2.0","method":"notifications/x"}`+"\n"+
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"+
			`{"result":%s,"jsonrpc":"2.0","id":%s}`+"\n", m.Params, m.ID)
	}
}

// start runs serve until the test ends and returns its URL. done yields what
// serve returned.
func start(t *testing.T, serve func(context.Context, net.Listener) error) (target string, done <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	result, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		result <- serve(ctx, l)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		http.DefaultClient.CloseIdleConnections()
	})
	return "http://" + l.Addr().String(), result
}

func startEcho(t *testing.T) (string, <-chan error) {
	t.Helper()
	return start(t, func(ctx context.Context, l net.Listener) error {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), echoEnv+"=1")
		return ServeStdio(ctx, l, cmd)
	})
}

func post(t *testing.T, target, body string) (status int, header http.Header, answer string) {
	t.Helper()
	resp, err := http.Post(target, "application/json", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, nil, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

func TestStdio(t *testing.T) {
	target, _ := startEcho(t)
	big := strings.Repeat(`\"id\":1 `, 50_000)
	tests := []struct {
		name, body string
		status     int
		want       string
	}{
		{"integer id", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":7}}`, 200, `{"result":{"id":7},"jsonrpc":"2.0","id":1}`},
		{"string id after the rest", `{"params":{"a":"\"id\":2"},"method":"id","id":"a\"b"}`, 200, `{"result":{"a":"\"id\":2"},"jsonrpc":"2.0","id":"a\"b"}`},
		{"several lines", "{\n\"id\": 3,\n\"params\": [\n1]}\n", 200, `{"result":[ 1],"jsonrpc":"2.0","id":3}`},
		{"initialize passes", `{"id":0,"method":"initialize","params":{}}`, 200, `{"result":{},"jsonrpc":"2.0","id":0}`},
		{"large", `{"id":4,"params":"` + big + `"}`, 200, `{"result":"` + big + `","jsonrpc":"2.0","id":4}`},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, header, got := post(t, target, tt.body)
			if status != tt.status || got != tt.want {
				t.Errorf("got %d %.200q, want %d %.200q", status, got, tt.status, tt.want)
			}
			if ct := header.Get("Content-Type"); status == 200 && ct != "application/json" {
				t.Errorf("Content-Type is %q", ct)
			}
		})
	}
}

// Not over a socket: a server that refuses a body need not read it, and then
// the client may see a reset before it sees the answer.
func TestTooLarge(t *testing.T) {
	for _, known := range []bool{true, false} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat(" ", MaxMessage+1)))
		if !known {
			r.ContentLength = -1
		}
		w := httptest.NewRecorder()
		new(child).ServeHTTP(w, r)
		if w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("length known: %v: status %d", known, w.Code)
		}
	}
}

// Clients that use the same ids at the same time each get their own answer.
func TestStdioClientsShareIDs(t *testing.T) {
	target, _ := startEcho(t)
	var wg sync.WaitGroup
	for client := range 8 {
		wg.Go(func() {
			for call := range 50 {
				_, _, got := post(t, target, fmt.Sprintf(`{"id":%d,"params":"%d/%d"}`, call, client, call))
				want := fmt.Sprintf(`{"result":"%d/%d","jsonrpc":"2.0","id":%d}`, client, call, call)
				if got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestStdioServerEnds(t *testing.T) {
	target, done := startEcho(t)
	resp, err := http.Post(target, "application/json", strings.NewReader(`{"id":1,"method":"die"}`))
	if err == nil { // the listener may be closed before the answer is out
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadGateway {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("ServeStdio returned %v", err)
	}
}

func TestHTTP(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Mcp-Session-Id", r.Header.Get("Mcp-Protocol-Version")+r.URL.Path)
		switch {
		case bytes.Contains(body, []byte("stream")):
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
			fmt.Fprintf(w, "data: %s\n\n", body)
		case bytes.Contains(body, []byte("refuse")):
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Write(body)
		}
	}))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	target, _ := start(t, func(ctx context.Context, l net.Listener) error { return ServeHTTP(ctx, l, u) })
	tests := []struct {
		body, contentType, want string
		status                  int
	}{
		{`{"id":1}`, "application/json", `{"id":1}`, 200},
		{`{"id":"stream"}`, "text/event-stream", "data: 1\n\ndata: {\"id\":\"stream\"}\n\n", 200},
		{"refuse", "", "", 401},
	}
	for _, tt := range tests {
		req, _ := http.NewRequest(http.MethodPost, target, strings.NewReader(tt.body))
		req.Header.Set("Mcp-Protocol-Version", "v")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.status || string(got) != tt.want || resp.Header.Get("Content-Type") != tt.contentType {
			t.Errorf("got %d %q %q, want %d %q %q", resp.StatusCode, resp.Header.Get("Content-Type"), got, tt.status, tt.contentType, tt.want)
		}
		if id := resp.Header.Get("Mcp-Session-Id"); id != "v/mcp" {
			t.Errorf("Mcp-Session-Id is %q", id)
		}
	}
}

// An answer that the upstream cuts must not look whole to the client.
func TestHTTPCutAnswer(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	target, _ := start(t, func(ctx context.Context, l net.Listener) error { return ServeHTTP(ctx, l, u) })
	resp, err := http.Post(target, "application/json", strings.NewReader(`{"id":1}`))
	if err != nil {
		return // cut before the first piece came through
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("read %q and no error", b)
	}
}

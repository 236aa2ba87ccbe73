package faithful

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/usher-mcp/usher/internal/gateway"
)

// agent is a client that is nothing but a socket. It may be used by many goroutines at once.
type agent interface {
	// call returns the lines that came upon a request, the answer last.
	call(it *item, id, message string) ([]string, error)
}

const hello = `{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// httpAgent sends each message over a connection of its own.
type httpAgent struct {
	address, session string
	modern, stream   bool
}

func newHTTPAgent(t testing.TB, g *gateway.Gateway, modern, stream bool) agent {
	t.Helper()
	l := listen(t, "tcp", "127.0.0.1:0")
	server := &http.Server{Handler: g.HTTP()}
	g.Attach(server)
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { _ = server.Close(); wg.Wait() })
	a := &httpAgent{address: l.Addr().String(), modern: modern, stream: stream}
	if !modern {
		res, _, err := a.post(hello)
		if err != nil {
			t.Fatal(err)
		}
		a.session = res.Header.Get("Mcp-Session-Id")
	}
	return a
}

func (a *httpAgent) call(_ *item, _, message string) ([]string, error) {
	res, body, err := a.post(message)
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %d: %s", res.StatusCode, body)
	case res.Header.Get("Content-Type") == "text/event-stream":
		return readEvents(string(body)), nil
	case a.stream:
		return nil, fmt.Errorf("the answer is of type %s", res.Header.Get("Content-Type"))
	}
	return []string{string(body)}, nil
}

func (a *httpAgent) post(message string) (*http.Response, []byte, error) {
	c, err := net.Dial("tcp", a.address)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	head := "POST /mcp HTTP/1.1\r\nHost: " + a.address + "\r\nContent-Type: application/json\r\n"
	switch {
	case a.modern:
		head += "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: mcp__up__t\r\n"
	case a.session != "":
		head += "MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: " + a.session + "\r\n"
	}
	if a.stream {
		head += "Accept: text/event-stream\r\n"
	} else {
		head += "Accept: application/json, text/event-stream\r\n"
	}
	_, _ = io.WriteString(c, head+"Content-Length: "+strconv.Itoa(len(message))+"\r\n\r\n"+message)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, body, err
}

// readEvents takes the data of each event.
func readEvents(s string) (data []string) {
	for e := range strings.SplitSeq(s, "\n\n") {
		for l := range strings.SplitSeq(e, "\n") {
			if rest, ok := strings.CutPrefix(l, "data: "); ok {
				data = append(data, rest)
			}
		}
	}
	return data
}

// stdioAgent speaks over two pipes.
type stdioAgent struct {
	mu      sync.Mutex // guards writing, and what follows
	in      *os.File
	waiting map[string]chan []string
	told    map[string][]string // by progress token, raw
}

func newStdioAgent(t testing.TB, g *gateway.Gateway, modern bool) agent {
	t.Helper()
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	a := &stdioAgent{in: in, waiting: make(map[string]chan []string), told: make(map[string][]string)}
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = g.ServeStdio(context.Background(), theirIn, theirOut)
		_ = theirOut.Close()
	})
	wg.Go(func() { a.read(t, out) })
	t.Cleanup(func() {
		_ = in.Close()
		wg.Wait()
		_, _ = out.Close(), theirIn.Close()
	})
	if !modern {
		if _, err := a.call(&item{}, `"h"`, hello); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func (a *stdioAgent) call(_ *item, id, message string) ([]string, error) {
	answer := make(chan []string, 1)
	a.mu.Lock()
	a.waiting[id] = answer
	_, err := io.WriteString(a.in, line(message)+"\n")
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	lines, ok := <-answer
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	return lines, nil
}

// read hands each answer to its call. What a call is told bears its token, which stands for the call here.
func (a *stdioAgent) read(t testing.TB, out io.Reader) {
	for r := bufio.NewReader(out); ; {
		b, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		b = bytes.TrimSuffix(b, []byte("\n"))
		var m struct {
			ID     json.RawMessage
			Params struct{ ProgressToken json.RawMessage }
		}
		if err := json.Unmarshal(b, &m); err != nil {
			t.Errorf("usher wrote %.200q: %v", b, err)
		}
		a.mu.Lock()
		if m.ID == nil {
			token := string(m.Params.ProgressToken)
			a.told[token] = append(a.told[token], string(b))
		} else if c := a.waiting[string(m.ID)]; c != nil {
			delete(a.waiting, string(m.ID))
			c <- append(a.told[string(m.ID)], string(b))
		}
		a.mu.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.waiting {
		close(c)
	}
}

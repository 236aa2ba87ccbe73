package faithful

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// accept runs serve on each connection of l, and ends all with the test.
func accept(t testing.TB, l net.Listener, serve func(net.Conn)) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var open []net.Conn
	ended := false
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		ended = true
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			if ended {
				_ = c.Close()
			}
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
}

func listen(t testing.TB, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serveLines is a server of stdio, at the other end of a socket that a bridge leads to.
func serveLines(s *script) func(net.Conn) {
	return func(c net.Conn) {
		for r := bufio.NewReader(c); ; {
			message, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			for _, text := range s.reply(message) {
				_, _ = io.WriteString(c, text+"\n")
			}
		}
	}
}

// serveHTTP answers POSTs, with an object or with a stream of events.
func serveHTTP(s *script, stream bool) func(net.Conn) {
	return func(c net.Conn) {
		for r := bufio.NewReader(c); ; {
			req, body, ok := readRequest(r)
			if !ok {
				return
			}
			if req.Method != http.MethodPost {
				_, _ = io.WriteString(c, "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
				continue
			}
			texts := s.reply(body)
			switch {
			case len(texts) == 0:
				_, _ = io.WriteString(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
			case stream:
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
				writeChunks(c, events(texts))
			default:
				text := texts[len(texts)-1]
				_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			}
		}
	}
}

func readRequest(r *bufio.Reader) (*http.Request, []byte, bool) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil, nil, false
	}
	body, err := io.ReadAll(req.Body)
	return req, body, err == nil
}

// events has a data line for each line of a text.
func events(texts []string) string {
	var b strings.Builder
	for i, text := range texts {
		if i%2 == 0 {
			b.WriteString(": a comment\nevent: message\n")
		}
		for l := range strings.SplitSeq(text, "\n") {
			b.WriteString("data: " + l + "\n")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// writeChunks cuts where it likes, also within a character.
func writeChunks(w io.Writer, s string) {
	for size := 1; len(s) > 0; size = size*3 + 1 {
		n := min(size, len(s))
		_, _ = fmt.Fprintf(w, "%x\r\n%s\r\n", n, s[:n])
		s = s[n:]
	}
	_, _ = io.WriteString(w, "0\r\n\r\n")
}

// sseServer is one of 2024-11-05, for one client.
type sseServer struct {
	*script
	mu     sync.Mutex
	stream net.Conn
}

func (s *sseServer) serve(c net.Conn) {
	for r := bufio.NewReader(c); ; {
		req, body, ok := readRequest(r)
		if !ok {
			return
		}
		if req.Method == http.MethodGet {
			s.mu.Lock() // the first POST may come as soon as it knows where to
			s.stream = c
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\nevent: endpoint\ndata: /messages\n\n")
			s.mu.Unlock()
			continue
		}
		_, _ = io.WriteString(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
		texts := s.reply(body)
		s.mu.Lock()
		_, _ = io.WriteString(s.stream, events(texts))
		s.mu.Unlock()
	}
}

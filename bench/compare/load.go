package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"time"
)

func notifyInterrupt(c chan<- os.Signal) { signal.Notify(c, os.Interrupt) }

// session is a client that costs next to nothing: one connection, requests made beforehand, answers only measured.
type session struct {
	conn net.Conn
	r    *bufio.Reader
	call []byte
	body []byte
}

// dial opens a legacy session and prepares calls of one tool.
func dial(address, tool string) (*session, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, r: bufio.NewReaderSize(conn, 64<<10), body: make([]byte, 64<<10)}
	id, err := s.post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
	if err != nil {
		return nil, err
	}
	if _, err := s.post(id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return nil, err
	}
	s.call = request(address, id, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"text":"hello, this is a small argument"}}}`)
	if err := s.roundTrip(); err != nil {
		return nil, err
	}
	if !bytes.Contains(s.body, []byte("small result")) {
		return nil, fmt.Errorf("the call of %s at %s failed: %s", tool, address, bytes.TrimRight(s.body, "\x00"))
	}
	return s, nil
}

func request(host, id, body string) []byte {
	head := "POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	if id != "" {
		head += "Mcp-Session-Id: " + id + "\r\nMcp-Protocol-Version: 2025-11-25\r\n"
	}
	return []byte(head + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

func (s *session) post(id, body string) (sessionID string, err error) {
	if _, err := s.conn.Write(request(s.conn.RemoteAddr().String(), id, body)); err != nil {
		return "", err
	}
	return s.read()
}

func (s *session) roundTrip() error {
	if _, err := s.conn.Write(s.call); err != nil {
		return err
	}
	_, err := s.read()
	return err
}

// read takes one answer off the connection.
func (s *session) read() (sessionID string, err error) {
	length, chunked, status := 0, false, ""
	for first := true; ; first = false {
		line, err := s.r.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		if len(line) <= 2 {
			break
		}
		if first {
			status = string(line[9:12])
			continue
		}
		name, value, _ := strings.Cut(string(bytes.TrimSpace(line)), ":")
		switch value = strings.TrimSpace(value); strings.ToLower(name) {
		case "content-length":
			length, _ = strconv.Atoi(value)
		case "mcp-session-id":
			sessionID = value
		case "transfer-encoding":
			chunked = true
		}
	}
	if chunked || length > len(s.body) || status[0] != '2' {
		return "", fmt.Errorf("status %s, %d bytes, chunked %v: not an answer that is measured here", status, length, chunked)
	}
	clear(s.body)
	_, err = io.ReadFull(s.r, s.body[:length])
	return sessionID, err
}

// throughput returns the calls a second that sessions together get through in the time.
func throughput(sessions []*session, during time.Duration) (float64, error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var total int
	var failed error
	begun := time.Now()
	for _, s := range sessions {
		wg.Go(func() {
			n := 0
			var err error
			for err == nil && time.Since(begun) < during {
				err = s.roundTrip()
				n++
			}
			mu.Lock()
			defer mu.Unlock()
			total += n
			if err != nil {
				failed = err
			}
		})
	}
	wg.Wait()
	return float64(total) / time.Since(begun).Seconds(), failed
}

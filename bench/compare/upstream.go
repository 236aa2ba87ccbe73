package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
)

// The upstream server answers as fast as a server can: it looks for the method and the id and decodes nothing.
const (
	initResult = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`
	listResult = `{"tools":[{"name":"echo","description":"Says the same.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":true}}]}`
	callResult = `{"content":[{"type":"text","text":"hello, this is a small result of a small tool"}]}`
)

// reply returns the answer to one message, nil for what wants none.
func reply(line []byte) []byte {
	id := idOf(line)
	switch {
	case id == nil:
		return nil
	case bytes.Contains(line, []byte(`"tools/call"`)):
		return answer(id, callResult)
	case bytes.Contains(line, []byte(`"tools/list"`)):
		return answer(id, listResult)
	case bytes.Contains(line, []byte(`"initialize"`)):
		return answer(id, initResult)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, id)
}

func answer(id []byte, result string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// idOf finds the id in messages as the clients here write them, right after the version.
func idOf(line []byte) []byte {
	const head = `"id":`
	i := bytes.Index(line, []byte(head))
	if i < 0 || i > 64 {
		return nil
	}
	rest := line[i+len(head):]
	end := bytes.IndexAny(rest, ",}")
	if end < 0 {
		return nil
	}
	return rest[:end]
}

func serveStdio(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if a := reply(line); a != nil {
			if _, err := out.Write(append(a, '\n')); err != nil {
				return err
			}
		}
	}
}

func serveHTTP() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String() + "/mcp")
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		a := reply(body)
		if err != nil || a == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(a)
	}))
}

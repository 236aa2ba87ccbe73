package gateway

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/mcp"
)

// BenchmarkCall is one small tools/call over loopback HTTP to a server in this process. The client writes bytes that
// are made beforehand and reads into one buffer, so that the allocations are the gateway's, net/http's and the host's.
func BenchmarkCall(b *testing.B) {
	w := newWorld(b, Options{})
	w.log.forget = true
	url := w.listen()
	c := w.client(url)
	c.hello()
	mCall, mHeaders := modern(mcp.MethodCallTool, `"name":"mcp__up__echo","arguments":{"id":"x"}`)
	for name, request := range map[string]string{
		"legacy": raw(url, call("1", "echo", `{"id":"x"}`), mcp.HeaderSession+": "+c.session),
		"modern": raw(url, mCall, mHeaders...),
	} {
		b.Run(name, func(b *testing.B) {
			conn, err := net.Dial("tcp", strings.Split(url, "/")[2])
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			in, out := []byte(request), make([]byte, 4096)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.Write(in); err != nil {
					b.Fatal(err)
				}
				for n := 0; !bytes.Contains(out[:n], []byte(`"done x"`)) || out[n-1] != '}'; {
					read, err := conn.Read(out[n:])
					if n += read; err != nil {
						b.Fatalf("%v %s", err, out[:n])
					}
				}
			}
		})
	}
}

func raw(url, body string, headers ...string) string {
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
		strings.Split(url, "/")[2], len(body), strings.Join(headers, "\r\n"), body)
}

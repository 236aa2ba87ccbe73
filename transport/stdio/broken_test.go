package stdio_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/stdio"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// B1, case-065: a pipe itself doesn't break, but what is behind it does, as behind mcp-remote or `docker run`. The
// process is a bridge to a server beyond the proxy: it ends when that connection breaks, and stays while it is silent.
func TestBrokenSuite(t *testing.T) {
	transporttest.RunBroken(t, func(t *testing.T, h mcp.Handler) (transport.Transport, *transporttest.Proxy) {
		p := transporttest.NewProxy(t, "tcp", serveTCP(t, h), nil)
		o := options("bridge")
		o.Env[sayVar] = p.Addr
		return stdio.New(o), p
	})
}

// serveTCP runs a server for each connection and returns the address.
func serveTCP(t *testing.T, h mcp.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() {
		cancel() // a slow call would be waited for
		_ = l.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				_ = stdio.Serve(ctx, c, c, h)
			})
		}
	})
	return l.Addr().String()
}

// bridge is the process: all that it reads goes to the address, and back.
func bridge(address string) int {
	c, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		_, _ = io.Copy(c, os.Stdin)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, c)
	return 0
}

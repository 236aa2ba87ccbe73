package transporttest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A Proxy passes bytes between clients and a server over TCP until it is told to break them. It ends with its test.
type Proxy struct {
	Addr string // "127.0.0.1:port", where clients go instead

	network, target string
	pass            func(client io.Writer, server io.Reader) error

	mu     sync.Mutex
	ended  bool
	open   map[net.Conn]bool
	frozen chan struct{} // closed: nothing passes any more
	done   chan struct{}
	wg     sync.WaitGroup
}

// NewProxy starts a proxy in front of the server at target ("tcp" or "unix"). Pass moves what one connection's server
// sends; when it returns, the connection is broken. Nil: all of it.
func NewProxy(t testing.TB, network, target string, pass func(client io.Writer, server io.Reader) error) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if pass == nil {
		pass = func(client io.Writer, server io.Reader) error { _, err := io.Copy(client, server); return err }
	}
	p := &Proxy{
		Addr: l.Addr().String(), network: network, target: target, pass: pass,
		open: make(map[net.Conn]bool), frozen: make(chan struct{}), done: make(chan struct{}),
	}
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
		close(p.done)
		p.Cut()
		p.wg.Wait()
	})
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c) })
		}
	})
	return p
}

// Cut breaks the connections that are open. New ones pass.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

// Freeze makes both ends believe that the other lives and is silent, as after a cable was pulled; also for new
// connections. It may be called once.
func (p *Proxy) Freeze() { close(p.frozen) }

func (p *Proxy) serve(client net.Conn) {
	defer p.drop(client)
	server, err := net.Dial(p.network, p.target)
	if err != nil {
		return
	}
	defer p.drop(server)
	if !p.hold(client) || !p.hold(server) {
		return
	}
	p.wg.Go(func() {
		_, _ = io.Copy(gate{p, server}, client)
		_ = server.Close()
	})
	_ = p.pass(gate{p, client}, server)
}

// hold makes Cut reach c; false if the proxy has ended.
func (p *Proxy) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = true
	return !p.ended
}

func (p *Proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

// gate lets nothing through once the proxy is frozen.
type gate struct {
	p *Proxy
	w io.Writer
}

func (g gate) Write(b []byte) (int, error) {
	select {
	case <-g.p.frozen:
		<-g.p.done
		return 0, net.ErrClosed
	default:
		return g.w.Write(b)
	}
}

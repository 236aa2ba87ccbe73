package admin

import (
	"net"
	"os"
	"sync"

	"github.com/usher-mcp/usher/internal/ancestry"
	"github.com/usher-mcp/usher/internal/socket"
)

// gate lets in only this user's processes, and so many connections at once; more wait.
type gate struct {
	net.Listener
	slots   chan struct{}
	done    chan struct{}
	close   func() error
	refused func(uid int)
}

func newGate(l net.Listener, most int, refused func(uid int)) *gate {
	g := &gate{Listener: l, slots: make(chan struct{}, most), done: make(chan struct{}), refused: refused}
	g.close = sync.OnceValue(func() error {
		close(g.done)
		return l.Close()
	})
	return g
}

// Accept returns the next connection of this user.
func (g *gate) Accept() (net.Conn, error) {
	select {
	case g.slots <- struct{}{}:
	case <-g.done:
		return nil, net.ErrClosed
	}
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			<-g.slots
			return nil, err
		}
		uid, err := socket.PeerUID(c)
		if err == nil && uid == os.Geteuid() {
			return newGuest(c, sync.OnceFunc(func() { <-g.slots })), nil
		}
		_ = c.Close()
		if err == nil { // else it is gone, and nobody knows who it was
			g.refused(uid)
		}
	}
}

// Close stops listening; the connections stay.
func (g *gate) Close() error { return g.close() }

// guest is a connection that has a slot.
type guest struct {
	net.Conn
	process ancestry.Process // that connected; zero: it can't be told
	leave   func()
}

// newGuest looks at who connected at once, before the id of that process can easily be another one's.
func newGuest(c net.Conn, leave func()) *guest {
	g := &guest{Conn: c, leave: leave}
	if pid, err := socket.PeerPID(c); err == nil {
		g.process, _ = ancestry.Of(pid)
	}
	return g
}

func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

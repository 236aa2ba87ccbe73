package dial

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// nameServer answers A questions over UDP (RFC 1035) on loopback.
type nameServer struct {
	conn net.PacketConn
	hold chan struct{} // if not nil, nothing is answered until it is closed

	mu    sync.Mutex
	names map[string]netip.Addr
	n     int
	asks  []net.Conn
	over  bool
}

func startDNS(t *testing.T) *nameServer { return startHeldDNS(t, nil) }

func startHeldDNS(t *testing.T, hold chan struct{}) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn: conn, hold: hold, names: map[string]netip.Addr{}}
	done := make(chan struct{})
	go func() { defer close(done); s.serve() }()
	t.Cleanup(func() { _ = conn.Close(); <-done; s.hangUp() })
	return s
}

func (s *nameServer) set(name, addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name] = netip.MustParseAddr(addr)
}

func (s *nameServer) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.over {
			return nil, errors.Join(net.ErrClosed, c.Close())
		}
		s.asks = append(s.asks, c)
		return c, nil
	}}
}

// hangUp ends questions that nobody waits for any more, which would last for seconds.
func (s *nameServer) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true // a resolver asks again after a failure
	for _, c := range s.asks {
		_ = c.Close()
	}
}

func (s *nameServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if s.hold != nil {
			<-s.hold
		}
		if reply := s.answer(buf[:n]); reply != nil {
			_, _ = s.conn.WriteTo(reply, from)
		}
	}
}

func (s *nameServer) answer(q []byte) []byte {
	var labels []string
	at := 12
	for at < len(q) && q[at] != 0 {
		end := at + 1 + int(q[at])
		if end >= len(q) {
			return nil
		}
		labels = append(labels, string(q[at+1:end]))
		at = end
	}
	end := at + 5
	if end > len(q) {
		return nil
	}
	s.mu.Lock()
	s.n++
	addr, known := s.names[strings.ToLower(strings.Join(labels, "."))]
	s.mu.Unlock()
	out := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end]...)
	switch {
	case !known:
		out[3] |= 3 // no such name
	case binary.BigEndian.Uint16(q[at+1:]) == 1: // A
		out[7] = 1
		out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, addr.AsSlice()...)
	}
	return out
}

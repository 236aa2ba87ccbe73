package transporttest

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// faultRoom is how much one direction holds that wasn't read yet, as a socket's buffer does.
const faultRoom = 256 << 10

// link is a connection with its two ends. One lock is enough for all of it.
type link struct {
	net   *FaultNet
	nth   int
	fault Fault

	mu       sync.Mutex
	changed  sync.Cond
	up, down half
	ended    bool // by a fault
	hung     bool
	reset    bool
	silence  *time.Timer

	client, server *faultConn
}

// half is one direction.
type half struct {
	limit  int64 // bytes until the fault; 0: there is none
	passed int64
	held   []parcel
	size   int  // of held
	closed bool // nothing will be written any more
	gone   bool // nobody will read any more
}

// parcel is what one write sent.
type parcel struct {
	bytes   []byte
	arrives time.Time
}

// arrived takes what the reader may have by now.
func (h *half) arrived(b []byte) (n int) {
	for n < len(b) && len(h.held) > 0 && !time.Now().Before(h.held[0].arrives) {
		p := &h.held[0]
		took := copy(b[n:], p.bytes)
		n += took
		if p.bytes = p.bytes[took:]; len(p.bytes) == 0 {
			h.held = h.held[1:]
		}
	}
	h.size -= n
	return n
}

// faultConn is one end.
type faultConn struct {
	*link
	in, out       *half
	local, remote net.Addr

	closed          bool
	readBy, writeBy deadline
}

var _ net.Conn = (*faultConn)(nil)

// deadline wakes who waits for it.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func newLink(f *FaultNet, n int, fault Fault) *link {
	l := &link{net: f, nth: n, fault: fault}
	l.changed.L = &l.mu
	l.up.limit, l.down.limit = fault.Up, fault.Down
	client := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 1024 + n%60000}
	l.client = &faultConn{link: l, in: &l.down, out: &l.up, local: client, remote: f.Addr()}
	l.server = &faultConn{link: l, in: &l.up, out: &l.down, local: f.Addr(), remote: client}
	return l
}

// Read reads what has arrived.
func (c *faultConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case c.readBy.passed():
			return 0, os.ErrDeadlineExceeded
		case c.reset:
			return 0, c.net.failure("read", syscall.ECONNRESET)
		case len(b) == 0:
			return 0, nil
		case !c.hung:
			if n := c.in.arrived(b); n > 0 {
				c.changed.Broadcast()
				return n, nil
			}
			if c.in.closed && len(c.in.held) == 0 {
				return 0, io.EOF
			}
		}
		c.changed.Wait()
	}
}

// Write sends b, as far as the connection carries it. A delay doesn't hold it up: it may be called under a lock, and who
// waits for a lock stops the clock of testing/synctest.
func (c *faultConn) Write(b []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return n, net.ErrClosed
		case c.writeBy.passed():
			return n, os.ErrDeadlineExceeded
		case c.reset, c.out.gone, c.out.closed:
			return n, c.net.failure("write", syscall.ECONNRESET)
		case len(b) == 0:
			return n, nil
		}
		took := c.take(b)
		n, b = n+took, b[took:]
		if took == 0 {
			c.changed.Wait()
		}
	}
}

// take moves as much of b as there is room for, and lets the fault happen when its time has come.
func (c *faultConn) take(b []byte) int {
	h := c.out
	n := min(len(b), faultRoom-h.size)
	due := h.limit > 0 && h.passed+int64(n) >= h.limit
	if due {
		n = int(h.limit - h.passed)
	}
	if n == 0 && !due {
		return 0
	}
	if n > 0 {
		h.held = append(h.held, parcel{bytes.Clone(b[:n]), time.Now().Add(c.fault.Delay)})
	}
	if c.fault.Delay > 0 {
		time.AfterFunc(c.fault.Delay, c.wake)
	}
	h.size += n
	h.passed += int64(n)
	if due {
		h.limit = 0
		c.fail(c.fault.End)
	}
	c.changed.Broadcast()
	return n
}

// fail ends the connection. It needs mu.
func (l *link) fail(how End) {
	if l.ended && how != Reset || l.reset {
		return
	}
	if !l.ended {
		l.net.count(how)
	}
	l.ended = true
	switch how {
	case Cut:
		l.up.closed, l.down.closed = true, true
	case Reset:
		l.reset, l.hung = true, false
	case Hang:
		l.hung = true
		if l.fault.Silence > 0 {
			l.silence = time.AfterFunc(l.fault.Silence, func() { l.end(Reset) })
		}
	}
	l.changed.Broadcast()
}

func (l *link) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed.Broadcast()
}

func (l *link) end(how End) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail(how)
}

// Close ends this end. The other one learns of it, unless the connection hangs.
func (c *faultConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	c.out.closed, c.in.gone = true, !c.hung
	for _, d := range []*deadline{&c.readBy, &c.writeBy} {
		if d.timer != nil {
			d.timer.Stop()
		}
	}
	if c.client.closed && c.server.closed {
		if c.silence != nil {
			c.silence.Stop()
		}
		c.net.drop(c.link)
	}
	c.changed.Broadcast()
	return nil
}

// LocalAddr is made up.
func (c *faultConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is made up.
func (c *faultConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *faultConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline ends reads at t, also one that waits already.
func (c *faultConn) SetReadDeadline(t time.Time) error { return c.set(&c.readBy, t) }

// SetWriteDeadline ends writes at t, also one that waits already.
func (c *faultConn) SetWriteDeadline(t time.Time) error { return c.set(&c.writeBy, t) }

func (c *faultConn) set(d *deadline, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	d.at, d.timer = t, nil
	if wait := time.Until(t); !t.IsZero() && wait > 0 {
		d.timer = time.AfterFunc(wait, c.wake)
	}
	c.changed.Broadcast()
	return nil
}

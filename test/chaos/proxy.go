package chaos

import (
	"net"
	"sync"
	"time"
)

// proxy passes bytes over TCP and fails as it is told.
type proxy struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	target string // of new connections
	ended  bool
	open   map[*passage]bool
	until  time.Time     // of the delay, the hole or the refusal
	delay  time.Duration // of each piece, while until holds
	fault  string        // delay, hole, refuse or half
	left   int           // bytes of answers that half still lets through
}

// passage is one connection through the proxy.
type passage struct {
	client, server *net.TCPConn
	over           chan struct{}
	once           sync.Once
}

func (c *passage) close(linger int) {
	c.once.Do(func() {
		close(c.over)
		_ = c.client.SetLinger(linger)
		_ = c.server.SetLinger(linger)
		_, _ = c.client.Close(), c.server.Close()
	})
}

func newProxy() (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, open: map[*passage]bool{}}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c.(*net.TCPConn)) })
		}
	})
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) pointTo(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.ended, p.until = true, time.Time{}
	p.mu.Unlock()
	p.breakAll(0)
	p.wg.Wait()
}

func (p *proxy) serve(client *net.TCPConn) {
	p.mu.Lock()
	target, refuse := p.target, p.fault == "refuse" && time.Now().Before(p.until)
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil || refuse {
		if err == nil {
			_ = server.Close()
		}
		_ = client.SetLinger(0)
		_ = client.Close()
		return
	}
	c := &passage{client: client, server: server.(*net.TCPConn), over: make(chan struct{})}
	p.mu.Lock()
	p.open[c] = true
	ended := p.ended
	p.mu.Unlock()
	if ended {
		c.close(0)
	}
	p.wg.Go(func() { p.pump(c, c.server, c.client, false) })
	p.pump(c, c.client, c.server, true)
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
}

// pump moves bytes one way until the passage ends.
func (p *proxy) pump(c *passage, to, from *net.TCPConn, answers bool) {
	defer c.close(-1)
	for b := make([]byte, 16<<10); ; {
		n, err := from.Read(b)
		pass, last := p.gate(c, n, answers)
		if _, e := to.Write(b[:pass]); e != nil || err != nil || last {
			return
		}
	}
}

// gate says how many of n bytes pass, when they may, and whether they are the last ones.
func (p *proxy) gate(c *passage, n int, answers bool) (pass int, last bool) {
	p.mu.Lock()
	var wait time.Duration
	switch now := time.Now(); {
	case p.fault == "half" && answers && n > 0:
		pass = min(n, p.left)
		p.left -= pass
		if p.left == 0 {
			p.fault, last = "", true
		}
		p.mu.Unlock()
		return pass, last
	case p.fault == "hole" && now.Before(p.until):
		wait = p.until.Sub(now)
	case p.fault == "delay" && now.Before(p.until):
		wait = p.delay
	}
	p.mu.Unlock()
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-c.over:
			return 0, true
		}
	}
	return n, false
}

// act fails; order is one of those in ofSockets that are the proxy's. False if it isn't.
func (p *proxy) act(order string, n int) bool {
	ms := time.Duration(n) * time.Millisecond
	switch order {
	case "cut":
		p.breakAll(-1)
	case "reset":
		p.breakAll(0)
	case "half", "hole", "refuse", "delay":
		p.mu.Lock()
		p.fault, p.left, p.until, p.delay = order, n, time.Now().Add(ms), ms
		if order == "delay" {
			p.until = time.Now().Add(200 * time.Millisecond)
		}
		p.mu.Unlock()
		if order == "refuse" {
			p.breakAll(0)
		}
	default:
		return false
	}
	return true
}

func (p *proxy) breakAll(linger int) {
	p.mu.Lock()
	var all []*passage
	for c := range p.open {
		all = append(all, c)
	}
	p.mu.Unlock()
	for _, c := range all {
		c.close(linger)
	}
}

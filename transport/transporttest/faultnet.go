package transporttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Fault is what befalls one connection. The zero Fault lets it be. The end comes when as many bytes have passed in one of
// the directions.
type Fault struct {
	Refuse bool // it isn't opened at all

	Up, Down int64 // bytes from client to server, and back, after which it ends; 0: never
	End      End
	Silence  time.Duration // of a Hang: after it, the connection is reset; 0: never

	Delay time.Duration // from a write until it can be read
}

// End is how a connection ends.
type End int

// The ends.
const (
	Cut   End = iota // what has passed can be read, then io.EOF; writing fails
	Reset            // both ends fail at once with ECONNRESET, what wasn't read is lost
	Hang             // nothing passes any more, and nobody is told
)

// String is the name of the end.
func (e End) String() string { return [...]string{"cut", "reset", "hang"}[e] }

// Faults makes a plan for FaultNet out of a seed: most connections end after up to most bytes, in one of the ways, some are
// refused, slow, or let be. The same seed makes the same plan.
func Faults(seed uint64, most int64) func(n int) Fault {
	return func(n int) Fault {
		rnd := rand.New(rand.NewPCG(seed, uint64(n)))
		f := Fault{Delay: time.Duration(rnd.IntN(3)) * time.Duration(rnd.IntN(50)) * time.Millisecond}
		switch rnd.IntN(10) {
		case 0:
			f.Refuse = true
		case 1:
		case 2:
			f.Up = 1 + rnd.Int64N(most)
		default:
			f.Down = 1 + rnd.Int64N(most)
		}
		if f.End = End(rnd.IntN(3)); f.End == Hang {
			f.Silence = time.Duration(1+rnd.IntN(20)) * time.Second
		}
		return f
	}
}

// A FaultNet is a network in memory with one server: its Listener, which clients reach by Dial. It holds no goroutine and
// opens no socket, so that it can be used in a bubble of testing/synctest. All methods may be called by many goroutines at
// once.
type FaultNet struct {
	plan   atomic.Pointer[func(n int) Fault]
	waits  chan *faultConn
	closed chan struct{}
	once   sync.Once

	mu     sync.Mutex
	dialed int
	ended  [3]int
	open   map[*link]bool
}

var _ net.Listener = (*FaultNet)(nil)

// NewFaultNet makes a network on which nothing fails.
func NewFaultNet() *FaultNet {
	f := &FaultNet{waits: make(chan *faultConn), closed: make(chan struct{}), open: make(map[*link]bool)}
	f.Plan(func(int) Fault { return Fault{} })
	return f
}

// Plan says what befalls the connections to come; n counts them from 0 over the life of the network.
func (f *FaultNet) Plan(plan func(n int) Fault) { f.plan.Store(&plan) }

// Dial opens a connection, whatever the address.
func (f *FaultNet) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	f.mu.Lock()
	n := f.dialed
	f.dialed++
	f.mu.Unlock()
	fault := (*f.plan.Load())(n)
	if fault.Refuse {
		return nil, f.failure("dial", syscall.ECONNREFUSED)
	}
	l := newLink(f, n, fault)
	f.hold(l) // before anybody can close it
	select {
	case f.waits <- l.server:
		return l.client, nil
	case <-f.closed:
		f.drop(l)
		return nil, f.failure("dial", syscall.ECONNREFUSED)
	case <-ctx.Done():
		f.drop(l)
		return nil, context.Cause(ctx)
	}
}

// Accept waits for a client.
func (f *FaultNet) Accept() (net.Conn, error) {
	select {
	case c := <-f.waits:
		return c, nil
	case <-f.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses new connections. The open ones stay.
func (f *FaultNet) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}

// Addr is the server's address, from a range that nobody has.
func (f *FaultNet) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }

// Break ends all connections that are open.
func (f *FaultNet) Break(how End) {
	f.mu.Lock()
	var all []*link
	for l := range f.open {
		all = append(all, l)
	}
	f.mu.Unlock()
	for _, l := range all {
		l.end(how)
	}
}

// Report says how many connections were dialled, and how many of them ended in which way.
func (f *FaultNet) Report() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%d dialled, %d cut, %d reset, %d hung", f.dialed, f.ended[Cut], f.ended[Reset], f.ended[Hang])
}

// Ended is how many connections a fault has ended.
func (f *FaultNet) Ended() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended[Cut] + f.ended[Reset] + f.ended[Hang]
}

func (f *FaultNet) hold(l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[l] = true
}

func (f *FaultNet) drop(l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, l)
}

func (f *FaultNet) count(e End) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended[e]++
}

func (f *FaultNet) failure(op string, errno syscall.Errno) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: f.Addr(), Err: errno}
}

package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/usher-mcp/usher/internal/ancestry"
	"github.com/usher-mcp/usher/internal/socket"
	"github.com/usher-mcp/usher/internal/store/sqlite"
)

// Ledger keeps who is connected, for all ushers of a data folder, as *sqlite.Ledger does.
type Ledger interface {
	AddClient(ctx context.Context, c sqlite.Client, gone func(sqlite.Client) bool) error
	Clients(ctx context.Context) ([]sqlite.Client, error)
}

var _ Ledger = (*sqlite.Ledger)(nil)

// Clients puts on record which processes are usher's and which are its clients. They stay there while they live, also
// once they have disconnected: else a client could hang up, answer its own question and come back. All methods are safe
// for concurrent use.
type Clients struct {
	ledger Ledger
	notice func(text string)
	finder ancestry.Finder
	me     ancestry.Process // zero: it isn't known
	itself sync.Once        // tells that me has connected

	mu    sync.Mutex
	known map[ancestry.Process]bool // on record already
}

// maxKnown bounds what is remembered; what is forgotten is written once more.
const maxKnown = 1000

// NewClients puts this process on record as an usher. Notice is told, in a sentence, of clients that couldn't be seen; it
// may be nil.
func NewClients(ctx context.Context, l Ledger, notice func(text string)) (*Clients, error) {
	c := &Clients{ledger: l, notice: notice, known: map[ancestry.Process]bool{}}
	me, err := ancestry.Self()
	if err != nil {
		return nil, err
	}
	c.me = me
	return c, c.add(ctx, me)
}

// Stdio puts on record who talks to this process over its standard input.
func (c *Clients) Stdio(ctx context.Context, in *os.File) error {
	p, err := ancestry.Behind(in)
	if err != nil {
		c.unseen("on standard input", err)
		return nil
	}
	return c.add(ctx, p)
}

// errItself keeps usher from being a server of its own, whose tools would be listed without end.
var errItself = errors.New("usher has connected to itself")

// Listener returns l, but that who connects is on record before the first byte of theirs is read. Where that can't be
// written, or it is this process itself, reading fails. Clients that can't be seen are let in: they are another user's, who doesn't get to answer
// anything, or hide.
func (c *Clients) Listener(l net.Listener) net.Listener { return &noting{l, c} }

type noting struct {
	net.Listener
	clients *Clients
}

func (n *noting) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	p := &noted{Conn: conn}
	p.note = sync.OnceValue(func() error { return n.clients.connected(conn) })
	return p, nil
}

// noted is a connection whose other end is looked for when it is first read from: not in Accept, where others wait.
type noted struct {
	net.Conn
	note func() error
}

func (n *noted) Read(b []byte) (int, error) {
	if err := n.note(); err != nil {
		return 0, err
	}
	return n.Conn.Read(b)
}

// SyscallConn is the inner connection's.
func (n *noted) SyscallConn() (syscall.RawConn, error) {
	s, ok := n.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return s.SyscallConn()
}

func (c *Clients) connected(conn net.Conn) error {
	var found []ancestry.Process
	var err error
	if _, isUnix := conn.LocalAddr().(*net.UnixAddr); isUnix {
		found, err = peerOfUnix(conn)
	} else {
		found, err = c.finder.PeerOfTCP(conn)
	}
	if err != nil {
		c.unseen("that connected to "+conn.LocalAddr().String(), err)
		return nil
	}
	if c.me.PID != 0 && slices.Contains(found, c.me) {
		c.itself.Do(func() {
			if c.notice != nil {
				c.notice("the entry of a server leads to usher's own address, " + conn.LocalAddr().String() + ": usher isn't a server of its own, so take that entry out")
			}
		})
		return errItself
	}
	ctx, cancel := context.WithTimeout(context.Background(), glance)
	defer cancel()
	for _, p := range found {
		if err := c.add(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func peerOfUnix(conn net.Conn) ([]ancestry.Process, error) {
	pid, err := socket.PeerPID(conn)
	if err != nil {
		return nil, err
	}
	p, err := ancestry.Of(pid)
	if err != nil {
		return nil, err
	}
	return []ancestry.Process{p}, socket.PeerLives(conn)
}

func (c *Clients) unseen(which string, err error) {
	if c.notice != nil && !errors.Is(err, ancestry.ErrGone) {
		c.notice(fmt.Sprintf("it can't be seen which process it is %s, so what it starts could answer its questions: %v", which, err))
	}
}

// add writes a process down once.
func (c *Clients) add(ctx context.Context, p ancestry.Process) error {
	c.mu.Lock()
	known := c.known[p]
	c.mu.Unlock()
	if known {
		return nil
	}
	row := sqlite.Client{PID: p.PID, Start: p.Start, Host: os.Getpid(), What: ancestry.Name(p.PID)}
	ended := func(r sqlite.Client) bool { return !processOf(r).Alive() }
	if err := c.ledger.AddClient(ctx, row, ended); err != nil {
		return fmt.Errorf("who is connected can't be put on record: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[p] = true
	return nil
}

func processOf(r sqlite.Client) ancestry.Process {
	return ancestry.Process{PID: r.PID, Start: r.Start}
}

// KinOf is what a Guard has to know, from the record of all ushers of a data folder.
func KinOf(l Ledger) func(context.Context) ([]ancestry.Kin, error) {
	return func(ctx context.Context) ([]ancestry.Kin, error) {
		rows, err := l.Clients(ctx)
		if err != nil {
			return nil, err
		}
		var all []ancestry.Kin
		for _, r := range rows {
			all = append(all, ancestry.Kin{Process: processOf(r), Name: r.What, Usher: r.PID == r.Host})
		}
		return all, nil
	}
}

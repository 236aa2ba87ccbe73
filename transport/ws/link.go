package ws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/mcp"
)

const (
	subprotocol = "mcp"

	// handshakeGrace is how long the peer may take to answer a close frame.
	handshakeGrace = time.Second
	// scratchSize is the buffer that messages are read into; most fit.
	scratchSize = 16 << 10
	// maxScan is how much of a message that is too long is looked at for its id.
	maxScan = 4 * mcp.MaxMessage
)

// link is one WebSocket, of either end.
type link struct {
	ws   *websocket.Conn
	wire *wire
	peer string // "the server" or "the client"

	born    time.Time
	waiting atomic.Int64 // since when the reader waits for the peer, in ns after born; 0: it doesn't
	sending atomic.Int32 // writes under way

	mu     sync.Mutex
	cause  error // why the link was cut
	life   context.Context
	end    context.CancelFunc
	silent chan struct{} // watch has ended
	once   sync.Once     // for close

	// Of the reader alone.
	scratch []byte
	pending []duplex.Frame // rest of a batch
	shared  *atomic.Int64  // nil, or what all links of a server hold; duplex.Share
	over    bool           // the last message was too long, so no other is read
}

// newLink takes over c, which needs a close from now on.
func newLink(c *websocket.Conn, w *wire, peer string, t Timing) *link {
	c.SetReadLimit(-1) // read has a limit of its own
	l := &link{ws: c, wire: w, peer: peer, born: time.Now(), silent: make(chan struct{})}
	l.life, l.end = context.WithCancel(context.Background())
	go l.watch(t)
	return l
}

// next returns the next frame. The first error is the last: io.EOF if the peer closed in an orderly way.
func (l *link) next() (duplex.Frame, error) {
	if len(l.pending) > 0 {
		first := l.pending[0]
		l.pending = l.pending[1:]
		return first, nil
	}
	if l.over {
		return duplex.Frame{}, &ending{code: websocket.StatusMessageTooBig, text: l.peer + " sent a message that is longer than 16 MiB"}
	}
	l.waiting.Store(int64(time.Since(l.born)) | 1)
	b, scan, err := l.read()
	l.waiting.Store(0)
	switch {
	case err != nil:
		return duplex.Frame{}, l.explain(err)
	case scan != nil:
		l.over = true
		return duplex.Frame{Message: scan.Message(), Reason: duplex.ErrTooLong}, nil
	}
	var first duplex.Frame
	first, l.pending = duplex.Parse(b)
	return first, nil
}

// read returns a message in memory of its own, or what could be told of one that is too long. It uses a context that
// never ends, for a websocket.Conn can't be used again after one that did; cutting the wire ends it.
func (l *link) read() ([]byte, *duplex.Scanner, error) {
	kind, r, err := l.ws.Reader(context.Background())
	if err != nil {
		return nil, nil, err
	}
	if kind != websocket.MessageText {
		return nil, nil, &ending{code: websocket.StatusUnsupportedData, text: l.peer + " sent a binary message; MCP uses text"}
	}
	if l.scratch == nil {
		l.scratch = make([]byte, scratchSize)
	}
	b, n, grown := l.scratch, 0, 0
	defer func() { duplex.Share(l.shared, -grown) }()
	for {
		m, err := r.Read(b[n:])
		n += m
		switch {
		case err == io.EOF && n <= len(l.scratch):
			return append([]byte(nil), b[:n]...), nil, nil
		case err == io.EOF:
			return b[:n], nil, nil
		case err != nil:
			return nil, nil, err
		case n > mcp.MaxMessage:
			scan, err := scanRest(b[:n], r)
			return nil, scan, err
		case n == len(b):
			size := min(2*n, mcp.MaxMessage+1)
			if !duplex.Share(l.shared, size-grown) {
				return nil, nil, &ending{code: websocket.StatusTryAgainLater, text: "the messages of all clients are too long together; try again later"}
			}
			grown = size
			b = append(make([]byte, 0, size), b...)
			b = b[:cap(b)]
		}
	}
}

// scanRest looks at a message that is too long, without keeping it.
func scanRest(begun []byte, r io.Reader) (*duplex.Scanner, error) {
	scan := new(duplex.Scanner)
	scan.Write(begun)
	buf := begun[:min(len(begun), 64<<10)]
	for seen := len(begun); seen < maxScan; {
		n, err := r.Read(buf)
		scan.Write(buf[:n])
		seen += n
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return scan, nil
}

// write sends b as one text message. Writes must not overlap.
func (l *link) write(b []byte) error {
	l.sending.Add(1)
	defer l.sending.Add(-1)
	return l.ws.Write(context.Background(), websocket.MessageText, b)
}

// cut ends the link at once; next and write fail with cause.
func (l *link) cut(cause error) {
	l.mu.Lock()
	if l.cause == nil {
		l.cause = cause
	}
	l.mu.Unlock()
	_ = l.wire.Close()
}

func (l *link) wasCut() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// close says code and reason to the peer, if it can still hear, and ends all that runs here. It takes at most
// handshakeGrace and a moment. Only the first call says something; later ones wait for it.
func (l *link) close(code websocket.StatusCode, reason string) {
	l.once.Do(func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = l.ws.Close(code, reason)
		}()
		timer := time.NewTimer(handshakeGrace)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		}
		_ = l.wire.Close()
		<-done
		l.end()
		<-l.silent
	})
}

// closeFor closes with the code that an error of next calls for.
func (l *link) closeFor(err error) {
	if e, ok := errors.AsType[*ending](err); ok && !e.received {
		l.close(e.code, e.text)
		return
	}
	l.close(websocket.StatusNormalClosure, "")
}

// explain makes an error of the library one of ours. It never wraps io.EOF, which stands for an orderly end.
func (l *link) explain(err error) error {
	if cause := l.wasCut(); cause != nil {
		return cause
	}
	if e, ok := errors.AsType[*ending](err); ok {
		return e
	}
	if e, ok := errors.AsType[websocket.CloseError](err); ok {
		switch e.Code {
		case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
			return io.EOF
		}
		return &ending{code: e.Code, received: true, text: fmt.Sprintf("%s closed the connection with code %s", l.peer, describe(e))}
	}
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("it ended without a close frame")
	case errors.Is(err, net.ErrClosed): // by the library, which gives a ping or pong 5 s to be taken
		err = errors.New("a ping or pong was not taken for 5s")
	}
	return fmt.Errorf("the connection to %s broke: %s", l.peer, shown(err.Error()))
}

package gateway

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

const (
	// keepAlive is how often a stream that waits says that it lives, so that no proxy cuts it.
	keepAlive = 15 * time.Second
	// writePatience is how long a client may take to read one write. Small answers fit into the socket's buffer.
	writePatience = 30 * time.Second
	// maxQueued bounds the bytes of notifications that a slow client hasn't read; more are dropped.
	maxQueued = 64 << 10
	// maxPooled is the largest buffer that is kept for the next answer.
	maxPooled = 64 << 10
	// alwaysFits is how much a socket takes although its client reads nothing: a deadline for it would be wasted.
	alwaysFits = 2 << 10
)

// exchange is the answer to one POST, and the Peer of its request. It is JSON when nothing is told before the answer,
// else a stream of events, if the client takes one.
//
// The ResponseWriter belongs to the handler's goroutine until the first Notify, then to the stream's goroutine until
// that has ended, then to the handler's again.
type exchange struct {
	g     *Gateway
	w     http.ResponseWriter
	takes accepted

	mu       sync.Mutex
	queue    []byte // events that aren't written yet
	answered bool   // nothing is queued any more
	stream   *stream
}

var _ mcp.Peer = (*exchange)(nil)

// stream is the goroutine that writes what is told.
type stream struct {
	wake chan struct{} // room for one
	done chan struct{}
}

// Notify queues m and never blocks; what a slow client has no room for is dropped.
func (x *exchange) Notify(_ context.Context, m *mcp.Message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.answered || !x.takes.stream || len(x.queue)+m.Size() > maxQueued {
		return
	}
	x.queue = appendEvent(x.queue, m)
	if x.stream == nil {
		x.stream = &stream{make(chan struct{}, 1), make(chan struct{})}
		go x.run(x.stream)
	}
	x.stream.poke()
}

// Request says that this client can't be asked.
func (x *exchange) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	return mcp.Nobody.Request(ctx, m)
}

func (s *stream) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run writes events until the answer is there or the client is gone.
func (x *exchange) run(s *stream) {
	defer close(s.done)
	x.startStream()
	out := http.NewResponseController(x.w)
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for {
		events, last := x.takeQueue()
		if len(events) > 0 && x.write(out, events) != nil {
			x.stop()
			return
		}
		if last {
			return
		}
		select {
		case <-s.wake:
		case <-alive.C:
			if x.write(out, []byte(":\n\n")) != nil {
				x.stop()
				return
			}
		}
	}
}

func (x *exchange) startStream() {
	h := x.w.Header()
	h.Set("Content-Type", streamType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	x.w.WriteHeader(http.StatusOK)
}

func (x *exchange) takeQueue() (events []byte, last bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	events, x.queue = x.queue, nil
	return events, x.answered
}

// stop drops all that is told from now on.
func (x *exchange) stop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answered, x.queue = true, nil
}

// answer writes the answer after all that was told before, and ends the exchange.
func (x *exchange) answer(m *mcp.Message, status int) {
	x.mu.Lock()
	x.answered = true
	s := x.stream
	x.mu.Unlock()

	buf := x.g.buffer()
	defer x.g.release(buf)
	if s == nil && (x.takes.json || status != http.StatusOK) {
		buf.b = m.AppendTo(buf.b)
		x.writeJSON(buf.b, status)
		return
	}
	if s != nil {
		s.poke()
		<-s.done
	} else {
		x.startStream()
	}
	buf.b = appendEvent(buf.b, m)
	_ = x.write(http.NewResponseController(x.w), buf.b) // the client is gone if it fails
}

func (x *exchange) writeJSON(b []byte, status int) {
	h := x.w.Header()
	h["Content-Type"] = jsonTypes
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	x.w.WriteHeader(status)
	if len(b) > alwaysFits {
		_ = x.write(http.NewResponseController(x.w), b)
		return
	}
	_, err := x.w.Write(b)
	if f, ok := x.w.(http.Flusher); ok && err == nil {
		f.Flush() // the client gets it before we clear away
	}
}

var jsonTypes = []string{jsonType} // never written to

// write gives the client a bounded time to take b. The deadline doesn't outlive it, since the connection goes on.
func (x *exchange) write(out *http.ResponseController, b []byte) error {
	_ = out.SetWriteDeadline(time.Now().Add(writePatience)) // a writer without deadlines is a test's
	_, err := x.w.Write(b)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		_ = out.SetWriteDeadline(time.Time{})
	}
	return err
}

// appendEvent appends m as one event of a stream.
func appendEvent(b []byte, m *mcp.Message) []byte {
	b = append(b, "event: message\ndata: "...)
	return append(m.AppendTo(b), "\n\n"...)
}

// buffer is memory for one answer. Nothing keeps a part of it: what is written is copied.
type buffer struct{ b []byte }

func (g *Gateway) buffer() *buffer {
	if b, ok := g.buffers.Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, 0, 2048)}
}

func (g *Gateway) release(b *buffer) {
	if cap(b.b) <= maxPooled {
		b.b = b.b[:0]
		g.buffers.Put(b)
	}
}

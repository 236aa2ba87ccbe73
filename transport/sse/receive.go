package sse

import (
	"context"
	"errors"
	"io"
	"mime"
	nethttp "net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/mcp"
)

// maxReading bounds the bytes of a session's posts that are being read, or wait for their turn.
const maxReading = 4 * (mcp.MaxMessage + 4<<10)

// post takes one message. 202 means that it is in its place among the others; what becomes of it is said on the stream,
// and never before the 202: some clients give up a request whose answer overtakes it.
func (s *Server) post(w nethttp.ResponseWriter, r *nethttp.Request) {
	_ = nethttp.NewResponseController(w).SetReadDeadline(time.Now().Add(s.stall)) // also for a body that isn't wanted
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		nethttp.Error(w, "send JSON as Content-Type: application/json", nethttp.StatusUnsupportedMediaType)
		return
	}
	ids := r.URL.Query()[sessionParam]
	if len(ids) == 0 {
		nethttp.Error(w, "open the event stream by GET first; it says where to post messages", nethttp.StatusBadRequest)
		return
	}
	ses := s.find(ids[len(ids)-1])
	if ses == nil {
		nethttp.Error(w, errNoSession.Error(), nethttp.StatusNotFound)
		return
	}
	p := posted{ses: ses, stall: s.stall, shared: &s.held}
	defer p.forget()
	body, err := p.read(w, r)
	if err != nil {
		refusePost(w, err)
		return
	}
	first, others := duplex.Parse(body)
	if first.Message == nil && len(others) == 0 { // so the stream couldn't say whose fault it is
		reason := first.Reason
		if reason == nil {
			reason = errors.New("it is empty")
		}
		nethttp.Error(w, "send one JSON-RPC message; this is none: "+reason.Error(), nethttp.StatusBadRequest)
		return
	}
	if !ses.in.enter(r.Context().Done()) {
		refusePost(w, errNoSession)
		return
	}
	defer ses.in.leave()
	if s.accept(w) != nil {
		return // the client wasn't told, so it mustn't happen
	}
	for _, f := range append([]duplex.Frame{first}, others...) {
		if !ses.in.put(f) {
			return // and the stream has ended
		}
	}
}

// accept sends all of the 202 at once. A client that doesn't take it would hold up the posts behind it.
func (s *Server) accept(w nethttp.ResponseWriter) error {
	rc := nethttp.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(s.stall))
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(nethttp.StatusAccepted)
	err := rc.Flush()
	_ = rc.SetWriteDeadline(time.Time{})
	return err
}

var (
	errNoSession = errors.New("there is no such session, or it has ended")
	errTooMuch   = errors.New("too much is being posted at once; wait for answers")
)

// refusePost says why a body wasn't read to its end, which also ends the client's connection.
func refusePost(w nethttp.ResponseWriter, err error) {
	status, text := nethttp.StatusRequestTimeout, "the message didn't come in time"
	switch _, tooLong := errors.AsType[*nethttp.MaxBytesError](err); {
	case tooLong:
		status, text = nethttp.StatusRequestEntityTooLarge, "the message is longer than 16 MiB"
	case err == errTooMuch:
		status, text = nethttp.StatusServiceUnavailable, err.Error()
	case err == errNoSession:
		status, text = nethttp.StatusNotFound, err.Error()
	}
	w.Header().Set("Connection", "close")
	nethttp.Error(w, text, status)
}

// posted is a body that counts in its session until forget.
type posted struct {
	ses    *session
	stall  time.Duration
	held   int           // bytes
	shared *atomic.Int64 // duplex.Share
}

// firstRead is how much a client may make us allocate by a Content-Length alone.
const firstRead = 4 << 10

// read reads a body, for which its client has stall for each 64 KiB, and no longer than its session lives.
func (p *posted) read(w nethttp.ResponseWriter, r *nethttp.Request) ([]byte, error) {
	rc := nethttp.NewResponseController(w)
	fired := make(chan struct{})
	stop := context.AfterFunc(p.ses.ctx, func() {
		defer close(fired)
		_ = rc.SetReadDeadline(time.Unix(1, 0))
	})
	defer func() {
		if !stop() {
			<-fired // rc is of no use to anybody after the request
		}
	}()
	most := mcp.MaxMessage + 1
	if n := r.ContentLength; n >= 0 && n < mcp.MaxMessage {
		most = int(n) + 1 // to see the end without growing
	}
	in := nethttp.MaxBytesReader(w, r.Body, mcp.MaxMessage)
	var b []byte
	for due := 0; ; {
		if len(b) == cap(b) {
			size := min(max(2*cap(b), firstRead), most)
			if !p.reserve(size) {
				return nil, errTooMuch
			}
			b = append(make([]byte, 0, size), b...)
		}
		if len(b) >= due {
			due = len(b) + pieceSize
			_ = rc.SetReadDeadline(time.Now().Add(p.stall))
		}
		if p.ses.ctx.Err() != nil { // after the deadline, which may have undone the past one
			return nil, errNoSession
		}
		n, err := in.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			_ = rc.SetReadDeadline(time.Time{})
			return b, nil
		}
		if err != nil {
			if p.ses.ctx.Err() != nil {
				err = errNoSession
			}
			return nil, err
		}
	}
}

// reserve reports whether the body may take size bytes.
func (p *posted) reserve(size int) bool {
	more := size - p.held
	if !duplex.Share(p.shared, more) {
		return false
	}
	p.held = size
	return p.ses.reading.Add(int64(more)) <= maxReading
}

func (p *posted) forget() {
	p.ses.reading.Add(int64(-p.held))
	duplex.Share(p.shared, -p.held)
}

// inbox hands what is posted to the session, one by one.
type inbox struct {
	frames chan duplex.Frame
	turn   chan struct{} // held by the post whose frames come next
	once   sync.Once
	done   chan struct{}
}

var _ duplex.Source = (*inbox)(nil)

func newInbox() *inbox {
	return &inbox{frames: make(chan duplex.Frame), turn: make(chan struct{}, 1), done: make(chan struct{})}
}

// enter waits for the turn to put frames, until leave; false if it never comes, or the client is gone.
func (b *inbox) enter(gone <-chan struct{}) bool {
	select {
	case <-b.done: // it counts for more than the turn
		return false
	default:
	}
	select {
	case b.turn <- struct{}{}:
		return true
	case <-b.done:
	case <-gone:
	}
	return false
}

func (b *inbox) leave() { <-b.turn }

// put waits until f is taken; false if it never will be. That its client is gone says nothing: it was told that f is in
// its place.
func (b *inbox) put(f duplex.Frame) bool {
	select {
	case b.frames <- f:
		return true
	case <-b.done:
		return false
	}
}

// Next waits for what is posted.
func (b *inbox) Next() (duplex.Frame, error) {
	select {
	case f := <-b.frames:
		return f, nil
	case <-b.done:
		return duplex.Frame{}, io.EOF
	}
}

// Stop may be called again.
func (b *inbox) Stop() bool {
	b.once.Do(func() { close(b.done) })
	return true
}

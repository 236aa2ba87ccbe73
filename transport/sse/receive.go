package sse

import (
	"bytes"
	"errors"
	"io"
	"mime"
	nethttp "net/http"
	"sync"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/mcp"
)

// post takes one message. 202 means that it is in its place among the others; what becomes of it is said on the stream.
func (s *Server) post(w nethttp.ResponseWriter, r *nethttp.Request) {
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
		nethttp.Error(w, "there is no such session, or it has ended", nethttp.StatusNotFound)
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		if _, ok := errors.AsType[*nethttp.MaxBytesError](err); ok {
			nethttp.Error(w, "the message is longer than 16 MiB", nethttp.StatusRequestEntityTooLarge)
		}
		return // else the client is gone
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
	for _, f := range append([]duplex.Frame{first}, others...) {
		if !ses.in.put(f, r.Context().Done()) {
			nethttp.Error(w, "the session has ended", nethttp.StatusNotFound)
			return
		}
	}
	w.WriteHeader(nethttp.StatusAccepted)
}

// firstRead is how much a client may make us allocate by a Content-Length alone.
const firstRead = 64 << 10

func readBody(w nethttp.ResponseWriter, r *nethttp.Request) ([]byte, error) {
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 {
		b.Grow(int(min(n, firstRead)) + bytes.MinRead)
	}
	_, err := b.ReadFrom(nethttp.MaxBytesReader(w, r.Body, mcp.MaxMessage))
	return b.Bytes(), err
}

// inbox hands what is posted to the session, one by one.
type inbox struct {
	frames chan duplex.Frame
	once   sync.Once
	done   chan struct{}
}

var _ duplex.Source = (*inbox)(nil)

func newInbox() *inbox {
	return &inbox{frames: make(chan duplex.Frame), done: make(chan struct{})}
}

// put waits until f is taken; false if it never will be.
func (b *inbox) put(f duplex.Frame, gone <-chan struct{}) bool {
	select {
	case b.frames <- f:
		return true
	case <-b.done:
	case <-gone:
	}
	return false
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

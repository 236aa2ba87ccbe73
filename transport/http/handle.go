package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
	// firstRead is how much is set aside for a body before its bytes come, whatever length its server claims.
	firstRead = 64 << 10
)

// ErrCut says that the stream of an answer ended before the answer came. The server may have run the call.
var ErrCut = errors.New("the server's answer was cut off")

var errTooLarge error = fault.New(fault.TooLarge, "an answer of the server is longer than 16 MiB")

// Handle posts req and returns its answer. Notifications that come before it on the same stream go to p.Notify in
// order; what the server asks goes to p.Request in a goroutine of its own, and what p says is posted back. Handle
// returns when none of these calls runs any more. When ctx ends, the HTTP request is closed.
//
// A stream of a legacy server that ends before the answer is resumed where its events have ids, at most 5 times in a row
// without anything new; no event is passed on twice. An answer on the standalone stream is as good.
//
// Errors, by what they wrap: transport.ErrNotSent if nothing was written; transport.ErrSessionExpired, upon which nothing
// but initialize is sent any more; *transport.Broken if an answer came that can't be used; *transport.StatusError if the HTTP answer was
// no MCP answer; ErrCut; ctx.Err().
//
// If an HTTP error carries a JSON-RPC error for req (with its id, or with none), Handle returns both: the answer, with
// the id of req, and the *transport.StatusError.
func (c *conn) Handle(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	x, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	var mirror mcp.Mirror
	if req.Mirror != nil {
		mirror = *req.Mirror
	}
	if mirror.Revision != "" {
		c.session.speaks(mirror.Revision)
	}
	if c.listens.Load() && mirror.Revision < mcp.Revision20260728 {
		c.elsewhere.add(req.ID, x)
		defer c.elsewhere.remove(req.ID, x)
	}
	answer, err := x.ask(req, mirror, p)
	if err == nil && x.stream != nil {
		x.linger()
		return answer, nil
	}
	x.finish()
	if other := x.other.Load(); err != nil && other != nil {
		return other.message, other.err
	}
	return answer, err
}

func (x *exchange) ask(req *mcp.Message, mirror mcp.Mirror, p mcp.Peer) (*mcp.Message, error) {
	if err := x.post(req, mirror); err != nil {
		return nil, err
	}
	if !succeeded(x.res) {
		return x.refusal(req.ID)
	}
	if req.Method == mcp.MethodInitialize {
		if err := x.conn.session.take(x.res.Header); err != nil {
			return nil, broken(req.ID, err)
		}
		x.session, _ = x.conn.session.get()
	}
	switch kind := contentType(x.res); {
	case kind == typeEvents:
		return x.follow(req.ID, mirror.Revision, p)
	case kind == typeJSON, kind == "" && x.res.StatusCode == nethttp.StatusOK:
		return x.readJSON(req.ID)
	}
	body, err := x.readSome(maxStatusBody)
	if err != nil {
		return nil, err
	}
	status := x.status(body)
	if x.res.StatusCode == nethttp.StatusAccepted {
		return nil, fmt.Errorf("the server took the request and sent no answer: %w", status)
	}
	return nil, fmt.Errorf("the server answered with %q instead of JSON: %w", cutText(contentType(x.res)), status)
}

// readJSON reads an answer that is one JSON object.
func (x *exchange) readJSON(id mcp.ID) (*mcp.Message, error) {
	body, err := readAll(x.res.Body, x.res.ContentLength, mcp.MaxMessage)
	if errors.Is(err, errTooLarge) {
		return nil, broken(id, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCut, x.explain("reading it", err))
	}
	m, err := mcp.Parse(body)
	if err != nil {
		return nil, broken(id, err)
	}
	return answerTo(id, m)
}

// answerTo returns m as the answer to id. An error without an id is one: a server that couldn't read the request
// can't name it.
func answerTo(id mcp.ID, m *mcp.Message) (*mcp.Message, error) {
	switch {
	case !m.IsAnswer():
		return nil, broken(id, fmt.Errorf("%q where the answer should be", cutText(m.Method)))
	case m.ID == "" && m.Error != nil:
		m.ID = id
	case m.ID != id:
		return nil, broken(id, fmt.Errorf("it answers the request %s; %s was asked", cutText(string(m.ID)), id))
	}
	return m, nil
}

func broken(id mcp.ID, reason error) error {
	return &transport.Broken{Message: &mcp.Message{ID: id}, Reason: reason}
}

// readAll reads a body to its end, at most limit bytes. length is what the server says, -1 if it doesn't.
func readAll(r io.Reader, length int64, limit int) ([]byte, error) {
	if length > int64(limit) {
		return nil, errTooLarge
	}
	size := int64(512)
	if length >= 0 {
		size = min(length+1, firstRead) // one byte more, so that the end is seen without growing
	}
	b := make([]byte, 0, size)
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case len(b) > limit:
			return nil, errTooLarge
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, err
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

func succeeded(res *nethttp.Response) bool { return res.StatusCode >= 200 && res.StatusCode < 300 }

// contentType returns the media type in lower case, without parameters.
func contentType(res *nethttp.Response) string {
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// cutText shortens a text of the server's for an error.
func cutText(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/usher-mcp/usher/mcp"
)

// codeRefused is the code of a refusal that is about HTTP and not about JSON-RPC.
const codeRefused = mcp.CodeInvalidRequest

// HTTP returns the handler of Streamable HTTP in both eras (2025-11-25 and 2026-07-28, "Transports"), for any path. The
// caller binds it to a loopback address, gives its http.Server a ReadHeaderTimeout and an IdleTimeout but no
// WriteTimeout (a call may take minutes), and hands that server to Attach.
//
// A client that goes away cancels its call in the modern era. In the legacy era it doesn't: the call goes on until it
// ends, or a notifications/cancelled of its session comes, or CallTimeout.
func (g *Gateway) HTTP() http.Handler { return g.Guard(http.HandlerFunc(g.serveHTTP)) }

func (g *Gateway) serveHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		g.post(w, r)
	case r.Method == http.MethodDelete && !isModernRevision(r.Header.Get(mcp.HeaderRevision)):
		g.delete(w, r)
	default:
		w.Header().Set("Allow", "POST, DELETE")
		g.refuse(w, "", refuseStatus(http.StatusMethodNotAllowed, "send messages by POST; there is no stream by GET"))
	}
}

func (g *Gateway) post(w http.ResponseWriter, r *http.Request) {
	takes, refusal := checkContent(r.Header)
	if refusal != nil {
		g.refuse(w, "", refusal)
		return
	}
	body, err := readBody(r)
	if err != nil {
		if errors.Is(err, errTooLong) {
			w.Header().Set("Connection", "close")
			g.refuse(w, "", refuseStatus(http.StatusRequestEntityTooLarge, err.Error()))
		}
		return // else the client is gone
	}
	m, err := mcp.Parse(body)
	if err != nil {
		id, refusal := unreadable(body, m, err)
		g.refuse(w, id, refusal)
		return
	}
	g.route(w, r, m, takes)
}

// unreadable tells JSON that is broken from JSON that is no message.
func unreadable(body []byte, m *mcp.Message, err error) (mcp.ID, *refusal) {
	code := mcp.CodeInvalidRequest
	if mcp.Validate(body) != nil {
		code = mcp.CodeParse
	}
	var id mcp.ID
	if m != nil {
		id = m.ID
	}
	return id, &refusal{http.StatusBadRequest, code, err.Error()}
}

// route finds the era, which on HTTP is a property of each request.
func (g *Gateway) route(w http.ResponseWriter, r *http.Request, m *mcp.Message, takes accepted) {
	meta := readMetadata(m.Params)
	modern := isModern(r.Header, meta)
	x := &exchange{g: g, w: w, takes: takes}
	switch {
	case modern && m.IsRequest():
		g.modernHTTP(r, m, meta, x)
	case modern:
		w.WriteHeader(http.StatusAccepted) // nothing is told this way in the modern era, nor does it harm
	case m.Method == mcp.MethodInitialize && m.IsRequest():
		g.initializeHTTP(m, x)
	default:
		g.legacyHTTP(r, m, x)
	}
}

// isModern reports whether a request is meant for the modern era. Session ids mean nothing there, so that one in a
// modern request is ignored.
func isModern(h http.Header, meta metadata) bool {
	revision := h.Get(mcp.HeaderRevision)
	return meta.version != nil || isModernRevision(revision) || revision != "" && h.Get(mcp.HeaderSession) == "" && !isLegacy(revision)
}

func isModernRevision(revision string) bool { return revision == mcp.ModernRevisions()[0] }

func (g *Gateway) modernHTTP(r *http.Request, m *mcp.Message, meta metadata, x *exchange) {
	refusal := meta.missing(m)
	if refusal == nil {
		refusal = checkMirror(r.Header, m, meta)
	}
	if refusal != nil {
		x.answer(refusal, http.StatusBadRequest)
		return
	}
	a, ok := r.Context().Value(connKey{g}).(*agent)
	if !ok {
		a = &agent{g: g, via: viaHTTP}
		defer a.end("disconnected")
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	x.answer(a.modern(ctx, m, meta, x))
}

func (g *Gateway) initializeHTTP(m *mcp.Message, x *exchange) {
	s := &session{agent: agent{g: g, via: viaHTTP}}
	answer := s.initialize(m)
	evicted, ok := g.sessions.add(s)
	if evicted != nil {
		evicted.end("evicted")
	}
	if !ok {
		g.refuse(x.w, m.ID, &refusal{http.StatusServiceUnavailable, mcp.CodeInternal, "too many sessions are in use, or usher is closing; try again later"})
		return
	}
	x.w.Header()[mcp.HeaderSession] = []string{s.id}
	x.answer(answer, http.StatusOK)
}

func (g *Gateway) legacyHTTP(r *http.Request, m *mcp.Message, x *exchange) {
	s, refusal := g.find(r.Header)
	if refusal != nil {
		g.refuse(x.w, m.ID, refusal)
		return
	}
	defer g.sessions.release(s)
	switch {
	case m.IsRequest():
		g.legacyRequest(s, m, x)
		return
	case m.Method == mcp.NotifyCancelled:
		s.cancel(mcp.ID(mcp.Member(m.Params, "requestId")))
	}
	x.w.WriteHeader(http.StatusAccepted)
}

func (g *Gateway) legacyRequest(s *session, m *mcp.Message, x *exchange) {
	ctx := g.deadlines.begin(g.ctx) // not the request's: a disconnect is no cancellation here
	defer g.deadlines.end(ctx)
	if !s.call(m.ID, ctx) {
		g.refuse(x.w, m.ID, &refusal{http.StatusBadRequest, mcp.CodeInvalidRequest, "a request with this id is already running"})
		return
	}
	answer := s.legacy(ctx, m, x)
	s.answered(m.ID) // before the client has the answer: it may take the id again at once
	x.answer(answer, http.StatusOK)
}

// find returns the session that a legacy request names; release must follow.
func (g *Gateway) find(h http.Header) (*session, *refusal) {
	id := h.Get(mcp.HeaderSession)
	if id == "" {
		return nil, refuseStatus(http.StatusBadRequest, "the header "+mcp.HeaderSession+" is missing; send initialize first (or, from 2026-07-28 on, params._meta)")
	}
	if revision := h.Get(mcp.HeaderRevision); revision != "" && !isLegacy(revision) {
		return nil, refuseStatus(http.StatusBadRequest, "the header "+mcp.HeaderRevision+" names a revision that this session can't have")
	}
	s := g.sessions.take(id)
	if s == nil {
		return nil, refuseStatus(http.StatusNotFound, errEnded.Error())
	}
	return s, nil
}

// delete ends a session and cancels its calls.
func (g *Gateway) delete(w http.ResponseWriter, r *http.Request) {
	s, refusal := g.find(r.Header)
	if refusal != nil {
		g.refuse(w, "", refusal)
		return
	}
	if g.sessions.remove(s) {
		s.end("deleted")
		s.cancelAll()
	}
	g.sessions.release(s)
	w.WriteHeader(http.StatusNoContent)
}

// refuse answers with a JSON-RPC error. The id is that of the request, if it is known; an unknown session's requests
// get none, since their ids are of a session that doesn't exist.
func (g *Gateway) refuse(w http.ResponseWriter, id mcp.ID, f *refusal) {
	if f.status == http.StatusNotFound {
		id = ""
	}
	x := &exchange{g: g, w: w, takes: accepted{json: true}}
	x.answer(mcp.ErrorAnswer(id, f.code, f.text, nil), f.status)
}

// smallBody is how much a client may make us allocate by a Content-Length alone.
const smallBody = 64 << 10

var errTooLong = errors.New("the message is longer than 16 MiB")

// readBody reads a bounded body into memory of its own. It isn't pooled: a Message shares memory with the bytes that it
// was parsed from, and one exact allocation is cheaper than the proof that nobody keeps a part.
func readBody(r *http.Request) ([]byte, error) {
	n := r.ContentLength
	switch {
	case n > mcp.MaxMessage:
		return nil, errTooLong
	case n >= 0 && n <= smallBody:
		b := make([]byte, n)
		_, err := io.ReadFull(r.Body, b)
		return b, err
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(io.LimitReader(r.Body, mcp.MaxMessage+1)); err != nil {
		return nil, err
	}
	if b.Len() > mcp.MaxMessage {
		return nil, errTooLong
	}
	return b.Bytes(), nil
}

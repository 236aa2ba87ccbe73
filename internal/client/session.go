package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// Session is one MCP session. It may be used by many goroutines at once. It ends with its connection or with Close,
// and is never opened again.
type Session struct {
	o       Options
	conn    transport.Conn
	handler mcp.Handler // conn, if it takes requests itself
	way     way         // set before Connect returns, then only read

	ids    atomic.Int64
	calls  calls
	strays atomic.Uint64
	modern atomic.Bool                // way.info.Era is Modern, for the reader, which runs before way is set
	repeat atomic.Pointer[mcp.Mirror] // way.mirror, for the same reason

	headers atomic.Pointer[headerTable]
	bad     atomic.Pointer[[]Dropped]
	listing chan struct{} // a token: who holds it may list anew after a refused header

	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc
	outbox  chan *mcp.Message // what nobody waits for: cancellations, answers to the server's requests
	writing chan struct{}     // closed when the outbox is given up
	over    chan struct{}     // closed when the connection has ended
	done    chan struct{}     // closed when the reader has ended
	end     error             // why; written before over is closed
	closed  atomic.Bool       // by us
}

var _ mcp.Handler = (*Session)(nil)

// way is how this session's server is spoken to.
type way struct {
	info   Info
	own    []byte      // our members of _meta, without braces; empty for legacy
	mirror *mcp.Mirror // of every request; nil for a modern server, whose requests differ
}

// errClosed ends a session that we closed.
var errClosed = errors.New("the connection was closed from our side")

const outboxRoom = 256

// open connects and starts to read, but says nothing yet.
func open(ctx context.Context, t transport.Transport, o Options) (*Session, error) {
	conn, err := t.Connect(ctx)
	if err != nil {
		return nil, (&Session{o: o}).connectFailure(ctx, err)
	}
	s := &Session{
		o: o, conn: conn, outbox: make(chan *mcp.Message, outboxRoom),
		writing: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{}), listing: make(chan struct{}, 1),
	}
	s.calls.open = make(map[int64]*call)
	s.handler, _ = conn.(mcp.Handler)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.read()
	go s.write()
	return s, nil
}

// Info returns what the handshake told. Its raw parts must not be changed.
func (s *Session) Info() Info { return s.way.info }

// Describe tells how the server fares, as far as its transport knows.
func (s *Session) Describe() transport.Description {
	if d, ok := s.conn.(transport.Describer); ok {
		return d.Describe()
	}
	return transport.Description{}
}

// Strays counts what the server sent that nobody had asked for or waited for any more: unknown or second answers,
// progress without a call, messages that couldn't be read.
func (s *Session) Strays() uint64 { return s.strays.Load() }

// Done is closed when the connection has ended, before the calls in flight fail.
func (s *Session) Done() <-chan struct{} { return s.over }

// Err says why the connection has ended; nil while it lives.
func (s *Session) Err() error {
	select {
	case <-s.over:
		return s.end
	default:
		return nil
	}
}

// Close ends the connection and all calls in flight. It is as bounded as the Close of the Conn, and idempotent.
func (s *Session) Close() error {
	s.closed.Store(true)
	s.cancel()
	err := s.conn.Close()
	<-s.done
	<-s.writing
	return err
}

// Handle sends a request under an id of its own and returns the answer under req's id. Result and error keep their
// bytes. The error is a *fault.Error:
//
//   - Timeout or Cancelled when ctx ended; the server is told in the way of its era
//   - Restarted when the connection ended after the request was handed over; Unavailable when no byte of it left
//   - Auth, SessionExpired, Protocol and TooLarge for what the names say
//   - ServerError for an HTTP answer that is no MCP answer, and when the server asks for input
func (s *Session) Handle(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	if !isObject(req.Params) {
		return nil, s.fault(fault.InvalidParams, "params must be an object")
	}
	if p == nil {
		p = mcp.Nobody
	}
	headers := s.headers.Load()
	answer, err := s.attempt(ctx, req, p, headers)
	if err == nil && answer.Error != nil && s.headersRefused(req, answer) && s.newHeaders(ctx, req, headers) {
		answer, err = s.attempt(ctx, req, p, s.headers.Load())
	}
	if err != nil {
		return nil, err
	}
	answer.ID = req.ID
	return answer, nil
}

func (s *Session) attempt(ctx context.Context, req *mcp.Message, p mcp.Peer, h *headerTable) (*mcp.Message, error) {
	id := s.ids.Add(1)
	params, token := splice(req.Params, s.way.own, id)
	m := &mcp.Message{ID: mcp.IntID(id), Method: req.Method, Params: params, Mirror: s.mirror(req, h)}
	if m.Size() > mcp.MaxMessage {
		return nil, s.fault(fault.InvalidParams, "the request is longer than 16 MiB")
	}
	answer, err := s.exchange(ctx, id, m, p, token)
	if err != nil {
		s.tellCancelled(ctx, m, err)
		return nil, s.failure(ctx, err)
	}
	if answer.Error == nil && s.way.info.Era == mcp.Modern {
		return answer, s.checkResult(answer.Result)
	}
	return answer, nil
}

// exchange sends m and waits for its answer or for the end of ctx. Its errors are raw.
func (s *Session) exchange(
	ctx context.Context, id int64, m *mcp.Message, p mcp.Peer, token json.RawMessage,
) (*mcp.Message, error) {
	if s.handler != nil {
		return s.delegate(ctx, m, p, token)
	}
	c := s.calls.get(ctx, p, token)
	if err := s.calls.add(id, c); err != nil {
		s.calls.put(c)
		return nil, errors.Join(err, transport.ErrNotSent)
	}
	err := s.conn.Send(ctx, m)
	if err == nil {
		select {
		case <-c.done:
			answer, err := c.answer, c.err
			s.calls.put(c)
			return answer, err
		case <-ctx.Done():
		}
	}
	mine := s.calls.leave(id, c)
	answer, failed := c.answer, c.err
	s.calls.put(c)
	switch {
	case err != nil && answer == nil: // Send knows best whether anything left
		return nil, err
	case mine:
		return nil, ctx.Err()
	}
	return answer, failed // it came after all
}

// checkResult refuses what a modern result must not be; a legacy one isn't looked into.
func (s *Session) checkResult(result json.RawMessage) error {
	raw := mcp.Member(result, "resultType")
	switch kind := string(raw); {
	case kind == `"complete"`, raw == nil && isObject(result):
		return nil
	case raw == nil:
		return s.fault(fault.Protocol, "the result is no object")
	case mcp.Text(raw) == "complete":
		return nil
	case mcp.Text(raw) == "input_required":
		e := s.fault(fault.ServerError, "server %s asks for input, which can't be given here", s.o.Name)
		e.Hint = "Give all that it needs in the arguments, or use another tool"
		return e
	}
	return s.fault(fault.Protocol, "the result is of the unknown type %.64s", raw)
}

// tellCancelled tells the server that nobody waits any more. A modern server behind HTTP sees its stream close instead;
// initialize must never be cancelled.
func (s *Session) tellCancelled(ctx context.Context, m *mcp.Message, err error) {
	if ctx.Err() == nil || !isContextError(err) || errors.Is(err, transport.ErrNotSent) || m.Method == mcp.MethodInitialize {
		return
	}
	if s.handler != nil && s.way.info.Era == mcp.Modern {
		return
	}
	reason := "cancelled by the caller"
	if contextKind(ctx) == fault.Timeout {
		reason = "timeout"
	}
	params := `{"requestId":` + string(m.ID) + `,"reason":"` + reason + `"}`
	s.post(&mcp.Message{Method: mcp.NotifyCancelled, Params: json.RawMessage(params), Mirror: s.way.mirror})
}

// isObject reports whether b, a JSON value or nothing, is an object or nothing.
func isObject(b []byte) bool {
	if len(b) > 0 && b[0] == '{' {
		return true
	}
	t := bytes.TrimLeft(b, " \t\r\n")
	return len(t) == 0 || t[0] == '{'
}

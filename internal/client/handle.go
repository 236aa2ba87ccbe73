package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// Handle sends a request under an id of its own and returns the answer under req's id. Result and error keep their
// bytes. Where a modern server asks for input, p is asked and the request sent again with what it said; where the
// server makes a task of it, Handle waits for the task's end and returns its result: see Terms for who wants neither.
//
// The error is a *fault.Error:
//
//   - Timeout or Cancelled when ctx ended; the server is told in the way of its era
//   - Cancelled when the server's task was cancelled
//   - Restarted when the connection ended after the request was handed over; Unavailable when no byte of it left
//   - Auth, SessionExpired, Protocol and TooLarge for what the names say
//   - ServerError for an HTTP answer that is no MCP answer, and when the server asks for input that nobody gives
func (s *Session) Handle(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	if !isObject(req.Params) {
		return nil, s.fault(fault.InvalidParams, "params must be an object")
	}
	j := job{s: s, method: req.Method, peer: p, declared: &s.declared, own: s.way.own}
	if p == nil {
		j.peer = mcp.Nobody
	}
	if t, ok := p.(Termed); ok && s.way.info.Era == mcp.Modern {
		if err := j.setTerms(t.Terms()); err != nil {
			return nil, err
		}
	}
	answer, err := j.send(ctx, req.Method, req.Params)
	if err != nil {
		return nil, err
	}
	if s.way.info.Era == mcp.Modern {
		if answer, err = j.settle(ctx, req.Params, answer); err != nil {
			return nil, begun(err)
		}
	}
	answer.ID = req.ID
	return answer, nil
}

// job is one call of Handle, which may take several requests.
type job struct {
	s        *Session
	method   string
	peer     mcp.Peer
	declared *declared
	own      []byte // our members of _meta
	rounds   rounds
}

func (j *job) setTerms(t Terms) error {
	own, err := j.s.ownMeta(j.s.way.info.Revision, t.Capabilities)
	if err != nil {
		return j.s.fault(fault.InvalidParams, "%s", err.Error())
	}
	d := declare(t)
	j.declared, j.own = &d, own
	return nil
}

// send is one round: a request and its answer, whatever that is, with the headers that the server wants now.
func (j *job) send(ctx context.Context, method string, params json.RawMessage) (*mcp.Message, error) {
	headers := j.s.headers.Load()
	answer, err := j.attempt(ctx, method, params, headers)
	if err == nil && answer.Error != nil && j.s.headersRefused(method, answer) && j.s.newHeaders(ctx, params, headers) {
		answer, err = j.attempt(ctx, method, params, j.s.headers.Load())
	}
	return answer, err
}

func (j *job) attempt(ctx context.Context, method string, params json.RawMessage, h *headerTable) (*mcp.Message, error) {
	s, id := j.s, j.s.ids.Add(1)
	spliced, token := splice(params, j.own, id)
	m := &mcp.Message{ID: mcp.IntID(id), Method: method, Params: spliced, Mirror: s.mirror(method, params, h)}
	if m.Size() > mcp.MaxMessage {
		return nil, s.fault(fault.InvalidParams, "the request is longer than 16 MiB")
	}
	answer, err := plain(s.exchange(ctx, id, m, j, token))
	if err != nil {
		s.tellCancelled(ctx, m, err)
		return nil, s.failure(ctx, err)
	}
	return answer, nil
}

// exchange sends m and waits for its answer or for the end of ctx. Its errors are raw; see plain for both at once.
func (s *Session) exchange(
	ctx context.Context, id int64, m *mcp.Message, j *job, token json.RawMessage,
) (*mcp.Message, error) {
	if s.handler != nil {
		return s.delegate(ctx, m, &callPeer{job: j, id: m.ID, token: token})
	}
	c := s.calls.get(ctx, j.peer, token)
	return s.transact(ctx, id, m, c)
}

// transact is exchange over a Conn that carries messages. It uses c up.
func (s *Session) transact(ctx context.Context, id int64, m *mcp.Message, c *call) (*mcp.Message, error) {
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

// settle goes on from a modern answer until it is one that the caller can use.
func (j *job) settle(ctx context.Context, params json.RawMessage, answer *mcp.Message) (*mcp.Message, error) {
	for answer.Error == nil {
		kind, err := j.s.resultType(answer.Result)
		switch {
		case err != nil:
			return nil, err
		case kind == mcp.ResultComplete:
			return answer, nil
		case kind == mcp.ResultTask:
			return j.task(ctx, answer)
		}
		next, err := j.input(ctx, params, answer.Result)
		if next == nil {
			return answer, err // passed on, or failed
		}
		if answer, err = j.send(ctx, j.method, next); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// resultType refuses what a modern result must not be; a legacy one isn't looked into.
func (s *Session) resultType(result json.RawMessage) (string, error) {
	raw := mcp.Member(result, "resultType")
	switch {
	case string(raw) == `"`+mcp.ResultComplete+`"`: // nearly always
		return mcp.ResultComplete, nil
	case raw == nil:
		if !isObject(result) {
			return "", s.fault(fault.Protocol, "the result is no object")
		}
		return mcp.ResultComplete, nil
	}
	switch kind := mcp.Text(raw); kind {
	case mcp.ResultComplete, mcp.ResultInput, mcp.ResultTask:
		return kind, nil
	}
	return "", s.fault(fault.Protocol, "the result is of the unknown type %.64s", raw)
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

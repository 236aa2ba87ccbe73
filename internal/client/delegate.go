package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// delegate lets a Conn that is a Handler do the exchange. Answer and error may both be there: see plain.
func (s *Session) delegate(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	if err := s.Err(); err != nil {
		return nil, errors.Join(err, transport.ErrNotSent)
	}
	answer, err := s.handler.Handle(ctx, m, p)
	switch {
	case err != nil && (answer == nil || answer.Error == nil):
		return nil, err
	case answer == nil || answer.ID != m.ID && (answer.ID != "" || answer.Error == nil):
		return nil, &transport.Broken{Message: m, Reason: errors.New("the answer is for another request")}
	}
	return answer, err
}

// plain makes one of an answer and an error: a JSON-RPC error is an answer, whatever HTTP status it comes with, but not
// where it is a matter of credentials, nor where the status says that the request was not run.
func plain(answer *mcp.Message, err error) (*mcp.Message, error) {
	if err == nil || answer != nil && isRefusal(err) && !saysNotRun(err) {
		return answer, nil
	}
	return nil, err
}

// callPeer is what a Conn that is a Handler sees of the caller.
type callPeer struct {
	*job
	id    mcp.ID
	token json.RawMessage
}

var _ mcp.Peer = (*callPeer)(nil)

// Notify passes on what belongs to the call; the rest concerns the whole session.
func (p *callPeer) Notify(ctx context.Context, m *mcp.Message) {
	switch m.Method {
	case mcp.NotifyProgress:
		if p.token == nil || string(mcp.Member(m.Params, mcp.MetaProgress)) != string(p.id) {
			p.s.strays.Add(1)
			return
		}
		p.peer.Notify(ctx, withToken(m, p.token))
	case mcp.NotifyMessage:
		p.peer.Notify(ctx, m)
	case mcp.NotifyCancelled: // of a question of the server's: it ends with the call
	default:
		p.s.o.OnNotify(m)
	}
}

// Request puts a legacy server's question to the call that it belongs to. A modern server must not ask.
func (p *callPeer) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	if answer := p.s.answerAtOnce(m); answer != nil {
		return answer, nil
	}
	return p.ask(ctx, m)
}

// ask puts a question that was found permissible to the call's peer, or, where the call has none, to the session's.
func (j *job) ask(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	if j.peer == mcp.Nobody && j.s.o.OnRequest != nil {
		return j.s.o.OnRequest(ctx, m)
	}
	return j.peer.Request(ctx, m)
}

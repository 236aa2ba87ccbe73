package mcp

import "context"

// A Handler answers one request. The client session, an upstream server, a built-in server, a host's session and the
// gateway's front are all Handlers.
//
// Everything that a Handler tells p for a request precedes its return. The error is a failure of the transport or of
// the path; a JSON-RPC error is an answer and lies in the Message. A Handler may be called by many goroutines at once.
// It must not keep req, and the answer belongs to the caller.
type Handler interface {
	Handle(ctx context.Context, req *Message, p Peer) (*Message, error)
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, req *Message, p Peer) (*Message, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req *Message, p Peer) (*Message, error) {
	return f(ctx, req, p)
}

// A Peer is the asking side of a request: where its progress and logs go, and who answers what the server asks in
// return (elicitation, sampling, roots).
type Peer interface {
	// Notify never blocks: what it can't deliver at once is queued within a bound, or dropped.
	Notify(ctx context.Context, m *Message)
	// Request waits for the peer's answer. A peer that can't be asked answers with CodeMethodNotFound.
	Request(ctx context.Context, m *Message) (*Message, error)
}

// Nobody is the Peer of a caller that listens to nothing and can't be asked.
var Nobody Peer = nobody{}

type nobody struct{}

func (nobody) Notify(context.Context, *Message) {}

func (nobody) Request(_ context.Context, m *Message) (*Message, error) {
	return ErrorAnswer(m.ID, CodeMethodNotFound, "this client can't be asked: "+m.Method, nil), nil
}

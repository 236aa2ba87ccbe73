package gateway

import (
	"context"
	"errors"
	"strings"
	"sync"
	"unicode"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/mcp"
)

// How the log calls the ways to the gateway.
const (
	viaHTTP  = "http"
	viaStdio = "stdio"
	viaWS    = "ws"
	viaSSE   = "sse"
	viaGRPC  = "grpc"
)

// agent is one client and its session in the host, which begins with the first request that needs one: a client that
// only says hello costs no event.
type agent struct {
	g       *Gateway
	via     string
	changed func() // told when the tools change; nil: nobody is told

	mu      sync.Mutex
	who     identity
	session *usher.Session
	opening chan struct{} // not nil while a session is being opened; closed then
	running int           // requests that use the session
	ended   string        // why; empty while it lives
}

// identity is what a client says about itself, for display.
type identity struct {
	name, version string
	era           mcp.Era
}

// meet keeps who the client is, if nobody has told yet.
func (a *agent) meet(era mcp.Era, clientInfo []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.who.era == mcp.EraUnknown {
		a.who = identity{
			name: clean(mcp.Text(mcp.Member(clientInfo, "name"))), version: clean(mcp.Text(mcp.Member(clientInfo, "version"))), era: era,
		}
	}
}

// maxWord bounds a client's name and its version, in bytes.
const maxWord = 64

// clean leaves what can be shown in a terminal without doing anything there.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s[:min(len(s), 4*maxWord)])
	return strings.TrimSpace(strings.ToValidUTF8(s[:min(len(s), maxWord)], ""))
}

func (i identity) String() string {
	name := i.name
	if name == "" {
		name = "unnamed"
	}
	if i.version == "" {
		return name
	}
	return name + "/" + i.version
}

var errEnded = errors.New("the session has ended; initialize again")

// begin returns the session for one request; unless it fails, done must follow.
func (a *agent) begin() (*usher.Session, error) {
	if !a.g.enter() {
		return nil, errClosed
	}
	a.mu.Lock()
	if a.ended != "" {
		a.mu.Unlock()
		a.g.running.Done()
		return nil, errEnded
	}
	a.running++
	a.mu.Unlock()
	s, err := a.open()
	if err != nil {
		a.done()
	}
	return s, err
}

// open returns the session, which the first of several callers opens. One that couldn't be opened is tried anew.
func (a *agent) open() (*usher.Session, error) {
	a.mu.Lock()
	for a.session == nil && a.opening != nil {
		wait := a.opening
		a.mu.Unlock()
		<-wait
		a.mu.Lock()
	}
	if a.session != nil {
		defer a.mu.Unlock()
		return a.session, nil
	}
	opened, who := make(chan struct{}), a.who
	a.opening = opened
	a.mu.Unlock()

	s, err := a.start(who)

	a.mu.Lock()
	defer a.mu.Unlock()
	a.session, a.opening = s, nil
	close(opened)
	return s, err
}

func (a *agent) start(who identity) (*usher.Session, error) {
	s, err := a.g.h.Session(usher.SessionOptions{
		Kind: "gateway", Client: who.String(), Principal: a.g.o.Principal, Server: a.g.o.Server, CallLimit: a.g.o.CallTimeout, Changed: a.changed,
	})
	if err != nil {
		return nil, err
	}
	s.Record(event.ClientConnected{Via: a.via, Name: who.name, Version: who.version, Era: who.era.String()})
	return s, nil
}

func (a *agent) done() {
	a.mu.Lock()
	a.running--
	a.mu.Unlock()
	a.finish()
	a.g.running.Done()
}

// end ends the session as soon as no request uses it. The first reason counts.
func (a *agent) end(reason string) {
	a.mu.Lock()
	if a.ended == "" {
		a.ended = reason
	}
	a.mu.Unlock()
	a.finish()
}

func (a *agent) finish() {
	a.mu.Lock()
	s, who, reason := a.session, a.who, a.ended
	if reason == "" || a.running > 0 || s == nil {
		a.mu.Unlock()
		return
	}
	a.session = nil
	a.mu.Unlock()
	s.Record(event.ClientDisconnected{Via: a.via, Name: who.name})
	s.Close(reason)
}

// forward lets the host answer m.
func (a *agent) forward(ctx context.Context, m *mcp.Message, p mcp.Peer) *mcp.Message {
	s, err := a.begin()
	if err != nil {
		return mcp.ErrorAnswer(m.ID, mcp.CodeInternal, a.g.refusalText(err), nil)
	}
	defer a.done()
	return handle(ctx, s, m, p)
}

func (g *Gateway) refusalText(err error) string {
	switch {
	case errors.Is(err, errClosed), errors.Is(err, errEnded):
		return err.Error()
	case errors.Is(err, usher.ErrClosed):
		return errClosed.Error()
	}
	return "usher can't record this session, so nothing runs: the event log can't be written. To see why, run: " + g.h.Command() + " doctor"
}

package transporttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/usher-mcp/usher/mcp"
)

// NotifyStarted is told by Echo when a "slow" request runs, and NotifyCount by "notify".
const (
	NotifyStarted = "notifications/test/started"
	NotifyCount   = "notifications/test/count"
)

// Echo makes the server that Run talks to, with a memory of its own. Its methods:
//
//   - echo: answers with its params
//   - notify {n}: tells n notifications, then answers
//   - slow {key}: tells that it has started, then waits until it is cancelled
//   - ended {key}: waits until a slow with that key was cancelled
//   - huge {n}: answers with a text of n bytes
//   - fail {how}: answers with an error (-32000); how "panic": panics; "error": returns a Go error
//   - told: answers with the params of all notifications that came, in their order
//   - ask {method}: asks its Peer and answers with the Peer's result
func Echo() mcp.Handler { return &echo{ended: make(map[string]chan struct{})} }

type echo struct {
	mu    sync.Mutex
	told  []string
	ended map[string]chan struct{}
}

type params struct {
	N      int    `json:"n"`
	Key    string `json:"key"`
	How    string `json:"how"`
	Method string `json:"method"`
}

func (e *echo) Handle(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	if req.IsNotification() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.told = append(e.told, string(req.Params))
		return nil, nil
	}
	var in params
	if req.Params != nil && req.Method != "echo" {
		if err := json.Unmarshal(req.Params, &in); err != nil {
			return mcp.ErrorAnswer(req.ID, mcp.CodeInvalidParams, err.Error(), nil), nil
		}
	}
	return e.answer(ctx, req, in, p)
}

func (e *echo) answer(ctx context.Context, req *mcp.Message, in params, p mcp.Peer) (*mcp.Message, error) {
	switch req.Method {
	case "echo":
		return mcp.Answer(req.ID, req.Params), nil
	case "notify":
		for i := range in.N {
			p.Notify(ctx, mcp.Notification(NotifyCount, fmt.Appendf(nil, `{"n":%d}`, i)))
		}
		return mcp.Answer(req.ID, nil), nil
	case "slow":
		p.Notify(ctx, mcp.Notification(NotifyStarted, req.Params))
		<-ctx.Done()
		close(e.end(in.Key))
		return nil, context.Cause(ctx)
	case "ended":
		select {
		case <-e.end(in.Key):
			return mcp.Answer(req.ID, nil), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	case "huge":
		return mcp.Answer(req.ID, fmt.Appendf(nil, `{"text":"%s"}`, strings.Repeat("x", in.N))), nil
	case "told":
		e.mu.Lock()
		defer e.mu.Unlock()
		return mcp.Answer(req.ID, fmt.Appendf(nil, `{"told":[%s]}`, strings.Join(e.told, ","))), nil
	}
	return e.fail(ctx, req, in, p)
}

func (e *echo) fail(ctx context.Context, req *mcp.Message, in params, p mcp.Peer) (*mcp.Message, error) {
	switch {
	case req.Method == "ask":
		return p.Request(ctx, mcp.Request(`"asked"`, in.Method, nil))
	case req.Method != "fail":
		return mcp.ErrorAnswer(req.ID, mcp.CodeMethodNotFound, "no such method: "+req.Method, nil), nil
	case in.How == "panic":
		panic("as asked for")
	case in.How == "error":
		return nil, errors.New("as asked for")
	}
	return mcp.ErrorAnswer(req.ID, -32000, "as asked for", nil), nil
}

// end returns what is closed when the slow request of this key was cancelled.
func (e *echo) end(key string) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended[key] == nil {
		e.ended[key] = make(chan struct{})
	}
	return e.ended[key]
}

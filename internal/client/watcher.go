package client

import (
	"context"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// watched counts who watches which resource of a legacy server, for which a second resources/subscribe is none. Who
// holds the token may change it and tell the server, so that the server hears of changes in their order.
type watched struct {
	token chan struct{}
	count map[string]int
}

func newWatched() watched {
	return watched{token: make(chan struct{}, 1), count: make(map[string]int)}
}

// lock waits for the token; false if ctx ended before.
func (w *watched) lock(ctx context.Context) bool {
	select {
	case w.token <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *watched) unlock() { <-w.token }

// watcher is a subscription of a legacy server (2025-11-25, "Resources", subscriptions): of its lists it tells unasked,
// of the contents of a resource once it was asked to.
type watcher struct {
	s     *Session
	uris  []string
	first *first
}

const unsubscribeTime = 5 * time.Second

func (w *watcher) run(ctx context.Context) {
	w.first.settle(w.subscribe(ctx))
	if len(w.uris) == 0 {
		return
	}
	<-ctx.Done()
	limited, cancel := context.WithTimeout(w.s.ctx, unsubscribeTime)
	defer cancel()
	w.unsubscribe(limited)
}

// subscribe leaves in w.uris what it counted.
func (w *watcher) subscribe(ctx context.Context) (result string) {
	result = "ok"
	all := &w.s.watched
	if !all.lock(ctx) {
		w.uris = nil
		return "stopped"
	}
	defer all.unlock()
	for _, uri := range w.uris {
		if all.count[uri]++; all.count[uri] > 1 {
			continue
		}
		if r := w.tell(ctx, mcp.MethodSubscribe, uri); r != "ok" {
			result = r
		}
	}
	return result
}

func (w *watcher) unsubscribe(ctx context.Context) {
	all := &w.s.watched
	if !all.lock(ctx) {
		return // the session is over, or its server hangs
	}
	defer all.unlock()
	for _, uri := range w.uris {
		if all.count[uri]--; all.count[uri] > 0 {
			continue
		}
		delete(all.count, uri)
		if ctx.Err() == nil {
			w.tell(ctx, mcp.MethodUnsubscribe, uri)
		}
	}
}

func (w *watcher) tell(ctx context.Context, method, uri string) string {
	params := mcp.SetMember(nil, "uri", mcp.Quote(uri))
	answer, err := w.s.Handle(ctx, mcp.Request("0", method, params), mcp.Nobody)
	return w.s.outcome(answer, err)
}

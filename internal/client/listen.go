package client

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// Listen says what changes of a server are to be heard.
type Listen struct {
	Tools, Prompts, Resources bool     // that a list has changed
	URIs                      []string // resources whose contents are watched
}

func (l Listen) isZero() bool { return !l.Tools && !l.Prompts && !l.Resources && len(l.URIs) == 0 }

// firstWait is how long the first acknowledgement of a subscription is waited for.
const firstWait = time.Second

// Listen subscribes to what l names, as far as the server declared that it tells of it, until stop is called or the
// session ends. What comes goes to Options.OnNotify. Several subscriptions may be open at once. It returns when the
// server has agreed or refused, at the latest after a second or when ctx ends; the subscription goes on behind it. Stop
// doesn't wait for the server.
//
// For a modern server this is subscriptions/listen (2026-07-28). It is opened again when it is lost, after 1 s to 30 s;
// when the server ended it in order, after 5 minutes; when the server refused it, never. Whenever one was opened and
// changes may have gone unheard since Listen returned, Options.OnStale is called. For a legacy server it is
// resources/subscribe for each of the URIs; of its lists such a server tells unasked.
func (s *Session) Listen(ctx context.Context, l Listen) (stop func()) {
	stop, _ = s.listen(ctx, l)
	return stop
}

// listenFirst starts what Options.Listen wants, before the caller lists anything.
func (s *Session) listenFirst(ctx context.Context) {
	if s.o.Listen.isZero() {
		return
	}
	end := s.steps.begin("subscribe")
	_, result := s.listen(ctx, s.o.Listen)
	end(result)
}

func (s *Session) listen(ctx context.Context, l Listen) (stop func(), result string) {
	life, cancel := context.WithCancel(s.ctx)
	first := &first{done: make(chan struct{})}
	l = s.offered(l)
	run := (&listener{s: s, want: l, first: first}).run
	if s.way.info.Era != mcp.Modern {
		run = (&watcher{s: s, uris: l.URIs, first: first}).run
	}
	if l.isZero() || !s.start(func() { run(life) }) {
		cancel()
		return cancel, "nothing that the server tells of"
	}
	return cancel, first.wait(ctx)
}

// offered is what of l the server declared that it tells.
func (s *Session) offered(l Listen) Listen {
	declares := func(kind, what string) bool {
		return string(mcp.Path(s.way.info.Capabilities, kind, what)) == "true"
	}
	l.Tools = l.Tools && declares("tools", "listChanged")
	l.Prompts = l.Prompts && declares("prompts", "listChanged")
	l.Resources = l.Resources && declares("resources", "listChanged")
	if l.URIs = slices.Clone(l.URIs); !declares("resources", "subscribe") {
		l.URIs = nil
	}
	return l
}

// stale says that changes may have gone unheard.
func (s *Session) stale(l Listen) {
	if s.o.OnStale != nil {
		s.o.OnStale()
		return
	}
	for _, k := range l.kinds() {
		if k.wanted {
			s.o.OnNotify(mcp.Notification(k.method, nil))
		}
	}
	for _, uri := range l.URIs {
		s.o.OnNotify(mcp.Notification(mcp.NotifyUpdated, mcp.SetMember(nil, "uri", mcp.Quote(uri))))
	}
}

type listKind struct {
	wanted      bool
	key, method string
}

func (l Listen) kinds() [3]listKind {
	return [3]listKind{
		{l.Tools, "toolsListChanged", mcp.NotifyTools},
		{l.Prompts, "promptsListChanged", mcp.NotifyPrompts},
		{l.Resources, "resourcesListChanged", mcp.NotifyResources},
	}
}

// params asks for what is wanted, and doesn't name what isn't.
func (l Listen) params() json.RawMessage {
	n := json.RawMessage(`{}`)
	for _, k := range l.kinds() {
		if k.wanted {
			n = mcp.SetMember(n, k.key, json.RawMessage(`true`))
		}
	}
	if len(l.URIs) > 0 {
		b := []byte{'['}
		for i, uri := range l.URIs {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, mcp.Quote(uri)...)
		}
		n = mcp.SetMember(n, "resourceSubscriptions", append(b, ']'))
	}
	return mcp.SetMember(nil, "notifications", n)
}

// first is the outcome of a subscription's first attempt. Either it is settled while somebody waits, or nobody waits
// any more.
type first struct {
	over   atomic.Bool
	done   chan struct{}
	result string // written before done is closed
}

// settle reports the outcome; false if nobody waits for it any more.
func (f *first) settle(result string) bool {
	if !f.over.CompareAndSwap(false, true) {
		return false
	}
	f.result = result
	close(f.done)
	return true
}

func (f *first) wait(ctx context.Context) string {
	timer := time.NewTimer(firstWait)
	defer timer.Stop()
	select {
	case <-f.done:
		return f.result
	case <-timer.C:
	case <-ctx.Done():
	}
	if f.over.CompareAndSwap(false, true) {
		return "not acknowledged yet"
	}
	<-f.done
	return f.result
}

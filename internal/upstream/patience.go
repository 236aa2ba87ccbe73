package upstream

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

// beginPatience bounds how long a call may take (D2): idle without answer or progress, hard in all; 0 is no limit. Both
// clocks stand still while the peer is being asked. A question is also a sign of life: idle begins anew behind it.
//
// The context ends with a *fault.Error of kind Timeout as its cause. It and the peer, which stands between the server and
// p and may be used by many goroutines at once, are for the call; stop must be called behind it.
func beginPatience(ctx context.Context, p mcp.Peer, idle, hard time.Duration) (limited context.Context, peer mcp.Peer, stop func()) {
	if p == nil {
		p = mcp.Nobody
	}
	if idle <= 0 && hard <= 0 {
		return ctx, p, func() {}
	}
	w := &patience{peer: p, idle: max(idle, 0), hard: max(hard, 0), began: time.Now()}
	w.heard = w.began
	limited, w.cancel = context.WithCancelCause(ctx)
	w.mu.Lock() // due reads the timer
	w.timer = time.AfterFunc(w.left(w.began), w.due)
	w.mu.Unlock()
	if t, ok := p.(client.Termed); ok {
		return limited, termed{w, t}, w.stop
	}
	return limited, w, w.stop
}

// patience is the Peer of one call, and its clocks. Progress only notes the time: the timer looks at it when it fires.
type patience struct {
	peer       mcp.Peer
	idle, hard time.Duration
	cancel     context.CancelCauseFunc

	mu     sync.Mutex
	timer  *time.Timer
	began  time.Time // later than it was by all the time of questions
	heard  time.Time // of the server
	asking int       // questions that aren't answered yet
	asked  time.Time // since when there are any
	over   bool
}

var _ mcp.Peer = (*patience)(nil)

// termed is patience before a peer that brings terms of its own.
type termed struct {
	*patience
	client.Termed
}

var _ interface {
	mcp.Peer
	client.Termed
} = termed{}

// Notify passes m on. Progress renews the server's time.
func (w *patience) Notify(ctx context.Context, m *mcp.Message) {
	if m.Method == mcp.NotifyProgress {
		now := time.Now()
		w.mu.Lock()
		w.heard = now
		w.mu.Unlock()
	}
	w.peer.Notify(ctx, m)
}

// Request puts the question to the peer, for as long as it takes (case-225).
func (w *patience) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	w.hold()
	defer w.resume()
	return w.peer.Request(ctx, m)
}

// hold stops the clocks until as many calls of resume.
func (w *patience) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asking++; w.asking == 1 {
		w.asked = time.Now()
		w.timer.Stop()
	}
}

func (w *patience) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asking--; w.asking > 0 || w.over {
		return
	}
	now := time.Now()
	w.began, w.heard = w.began.Add(now.Sub(w.asked)), now
	w.timer.Reset(w.left(now))
}

// left is how long it is until the next limit passes. It needs mu.
func (w *patience) left(now time.Time) time.Duration {
	idle, hard := w.idle-now.Sub(w.heard), w.hard-now.Sub(w.began)
	switch {
	case w.hard == 0:
		return idle
	case w.idle == 0:
		return hard
	}
	return min(idle, hard)
}

// words say which limit has passed. They need mu.
func (w *patience) words(now time.Time) string {
	if w.hard > 0 && now.Sub(w.began) >= w.hard {
		return spell(w.hard) + " in all"
	}
	return "no answer and no progress for " + spell(w.idle)
}

// due ends the call if a limit has passed, else waits on.
func (w *patience) due() {
	w.mu.Lock()
	if w.over || w.asking > 0 {
		w.mu.Unlock()
		return
	}
	now := time.Now()
	if wait := w.left(now); wait > 0 {
		w.timer.Reset(wait)
		w.mu.Unlock()
		return
	}
	w.over = true
	detail := w.words(now)
	w.mu.Unlock()
	// The cause says that nobody gave the call up, although its context is cancelled.
	w.cancel(&fault.Error{Kind: fault.Timeout, Detail: detail, Cause: context.DeadlineExceeded})
}

func (w *patience) stop() {
	w.mu.Lock()
	w.over = true
	w.timer.Stop()
	w.mu.Unlock()
	w.cancel(nil)
}

// spell is a time as a person writes it: "10 min", "30 s", "0.25 s".
func spell(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return strconv.FormatInt(int64(d/time.Minute), 10) + " min"
	}
	return strconv.FormatFloat(float64(d.Milliseconds())/1000, 'f', -1, 64) + " s"
}

package ws

import (
	"context"
	"fmt"
	"time"
)

// Timing says how a peer that is gone is noticed.
type Timing struct {
	PingEvery   time.Duration // 0: 30 s; negative: never
	PongTimeout time.Duration // 0: 15 s
}

func (t Timing) withDefaults() Timing {
	if t.PingEvery == 0 {
		t.PingEvery = 30 * time.Second
	}
	if t.PongTimeout <= 0 {
		t.PongTimeout = 15 * time.Second
	}
	return t
}

// watch pings the peer until the link is closed, and cuts the link if nothing comes back.
func (l *link) watch(t Timing) {
	defer close(l.silent)
	t = t.withDefaults()
	if t.PingEvery < 0 {
		return
	}
	tick := time.NewTicker(t.PingEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.life.Done():
			return
		case <-tick.C:
		}
		if !l.ping(t.PongTimeout) {
			l.cut(fmt.Errorf("%s sent nothing for %v after a ping, so the connection was ended", l.peer, t.PongTimeout))
			return
		}
	}
}

// ping reports whether the peer may be alive. A pong may lie behind a long message, or behind one that nobody here has
// taken yet, and a ping behind one that is being sent: where bytes go by, nobody is gone.
func (l *link) ping(limit time.Duration) bool {
	start, heard, wrote := int64(time.Since(l.born)), l.wire.heard.Load(), l.wire.wrote.Load()
	ctx, cancel := context.WithTimeout(l.life, limit)
	defer cancel()
	if l.ws.Ping(ctx) == nil {
		return true
	}
	<-ctx.Done() // a ping that couldn't be written fails sooner
	since := l.waiting.Load()
	return l.life.Err() != nil ||
		l.wire.heard.Load() != heard ||
		since == 0 || since > start || // we don't listen, or not for long
		l.sending.Load() > 0 && l.wire.wrote.Load() != wrote
}

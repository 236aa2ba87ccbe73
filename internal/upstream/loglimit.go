package upstream

import (
	"sync"
	"time"
)

// logLimit lets a server's log messages into ours, at most perSecond of them.
type logLimit struct {
	mu     sync.Mutex
	second int64
	count  int
}

const perSecond = 20

func (l *logLimit) admit(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Unix() != l.second {
		l.second, l.count = now.Unix(), 0
	}
	l.count++
	return l.count <= perSecond
}

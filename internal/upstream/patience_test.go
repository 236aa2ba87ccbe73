package upstream

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

// listener is a peer that takes a while to answer.
type listener struct {
	takes time.Duration
	mu    sync.Mutex
	heard []string
}

func (l *listener) Notify(_ context.Context, m *mcp.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, m.Method)
}

func (l *listener) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	select {
	case <-time.After(l.takes):
		return mcp.Answer(m.ID, nil), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *listener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.heard)
}

type withTerms struct {
	mcp.Peer
	terms client.Terms
}

func (w withTerms) Terms() client.Terms { return w.terms }

// life is what a call went through: progress at these times, and questions. It returns when it ended, and how.
type life struct {
	idle, hard time.Duration
	progress   []time.Duration
	logs       []time.Duration // what is no progress
	asks       []time.Duration // questions at these times
	takes      time.Duration   // each of them
	ends       time.Duration   // answered
}

func (l life) run(t *testing.T) (took time.Duration, cause error) {
	ctx, p, stop := beginPatience(t.Context(), &listener{takes: l.takes}, l.idle, l.hard)
	began := time.Now()
	var wg sync.WaitGroup
	at := func(when []time.Duration, do func()) {
		for _, d := range when {
			wg.Go(func() {
				select {
				case <-time.After(d):
					do()
				case <-ctx.Done():
				}
			})
		}
	}
	at(l.progress, func() { p.Notify(ctx, mcp.Notification(mcp.NotifyProgress, nil)) })
	at(l.logs, func() { p.Notify(ctx, mcp.Notification(mcp.NotifyMessage, nil)) })
	at(l.asks, func() { _, _ = p.Request(ctx, mcp.Request("1", mcp.MethodElicit, nil)) })
	select {
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-time.After(l.ends):
	}
	took = time.Since(began)
	stop()
	wg.Wait()
	return took, cause
}

func each(from, to, step time.Duration) (all []time.Duration) {
	for ; from <= to; from += step {
		all = append(all, from)
	}
	return all
}

// D2, case-186, case-187, case-225: when a call ends, and what is said then. There is no other limit on the way.
func TestPatience(t *testing.T) {
	const s, min, long = time.Second, time.Minute, 24 * time.Hour
	for name, c := range map[string]struct {
		life
		want time.Duration
		says string // empty: it is answered
	}{
		"silence":                {life{idle: 30 * s, hard: 10 * min, ends: long}, 30 * s, "no answer and no progress for 30 s"},
		"answered in time":       {life{idle: 30 * s, hard: 10 * min, ends: 29 * s}, 29 * s, ""},
		"what the config says":   {life{idle: 90 * s, hard: 10 * min, ends: long}, 90 * s, "no answer and no progress for 90 s"}, // case-187
		"progress":               {life{idle: 30 * s, hard: 10 * min, progress: each(29*s, 290*s, 29*s), ends: 300 * s}, 300 * s, ""},
		"progress that stops":    {life{idle: 30 * s, hard: 10 * min, progress: each(20*s, 100*s, 20*s), ends: long}, 130 * s, "no answer and no progress for 30 s"},
		"progress without end":   {life{idle: 30 * s, hard: 10 * min, progress: each(5*s, 20*min, 5*s), ends: long}, 10 * min, "10 min in all"},
		"other words":            {life{idle: 30 * s, hard: 10 * min, logs: each(5*s, 60*s, 5*s), ends: long}, 30 * s, "no answer and no progress for 30 s"},
		"no idle limit":          {life{hard: 10 * min, ends: long}, 10 * min, "10 min in all"},
		"no hard limit":          {life{idle: 30 * s, progress: each(20*s, 1000*s, 20*s), ends: long}, 1030 * s, "no answer and no progress for 30 s"},
		"no limit":               {life{ends: long}, long, ""},
		"hard below idle":        {life{idle: 30 * s, hard: 1500 * time.Millisecond, ends: long}, 1500 * time.Millisecond, "1.5 s in all"},
		"a person who thinks":    {life{idle: 30 * s, hard: 10 * min, asks: []time.Duration{10 * s}, takes: 5 * time.Hour, ends: 10*s + 5*time.Hour + 29*s}, 5*time.Hour + 39*s, ""},
		"silence after a person": {life{idle: 30 * s, hard: 10 * min, asks: []time.Duration{10 * s}, takes: time.Hour, ends: long}, time.Hour + 40*s, "no answer and no progress for 30 s"},
		"two questions":          {life{hard: 10 * min, asks: []time.Duration{min, 65 * min}, takes: time.Hour, ends: long}, 130 * min, "10 min in all"},
		"questions at once":      {life{hard: min, asks: []time.Duration{30 * s, 40 * s, 50 * s}, takes: time.Hour, ends: long}, time.Hour + 80*s, "1 min in all"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took, cause := c.run(t)
				if took != c.want {
					t.Errorf("it took %v, want %v", took, c.want)
				}
				if c.says == "" {
					if cause != nil {
						t.Errorf("it ended with %v", cause)
					}
					return
				}
				e, ok := cause.(*fault.Error)
				if !ok || e.Kind != fault.Timeout || e.Detail != c.says {
					t.Errorf("the cause is %v, want %q", cause, c.says)
				}
				if !errors.Is(cause, context.DeadlineExceeded) {
					t.Error("the cause is no deadline")
				}
			})
		})
	}
}

// What the caller ends is the caller's: neither a time-out nor without its cause.
func TestPatienceOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		parent, cancel := context.WithCancelCause(t.Context())
		ctx, p, stop := beginPatience(parent, nil, time.Minute, 0)
		defer stop()
		cancel(why)
		<-ctx.Done()
		if got := context.Cause(ctx); got != why {
			t.Errorf("the cause is %v", got)
		}
		if m, err := p.Request(ctx, mcp.Request("1", mcp.MethodElicit, nil)); err != nil || m.Error == nil {
			t.Errorf("nobody answered %v, %v", m, err)
		}
	})
}

// After stop nothing fires, and a question that comes back late starts no clock.
func TestPatienceAfterItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p, stop := beginPatience(t.Context(), &listener{takes: time.Hour}, time.Second, time.Minute)
		go func() { _, _ = p.Request(t.Context(), mcp.Request("1", mcp.MethodElicit, nil)) }()
		synctest.Wait()
		stop()
		stop()
		time.Sleep(2 * time.Hour)
		if got := context.Cause(ctx); got != context.Canceled {
			t.Errorf("the cause is %v", got)
		}
	})
}

// Reports and questions may come from many goroutines at once, while limits pass.
func TestPatienceConcurrent(t *testing.T) {
	l := &listener{}
	ctx, p, stop := beginPatience(t.Context(), l, time.Hour, 20*time.Millisecond)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				p.Notify(ctx, mcp.Notification(mcp.NotifyProgress, nil))
				_, _ = p.Request(ctx, mcp.Request("1", mcp.MethodElicit, nil))
			}
		})
	}
	time.AfterFunc(5*time.Second, stop) // the clock stands still nearly all the time
	<-ctx.Done()
	wg.Wait()
	stop()
	if l.count() == 0 {
		t.Error("nothing was passed on")
	}
}

func TestSpell(t *testing.T) {
	for d, want := range map[time.Duration]string{
		10 * time.Minute: "10 min", 30 * time.Second: "30 s", 90 * time.Second: "90 s", 250 * time.Millisecond: "0.25 s",
		1234567 * time.Microsecond: "1.234 s", 2 * time.Hour: "120 min",
	} {
		if got := spell(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// D2: what the limits cost a call, next to a plain deadline.
func BenchmarkPatience(b *testing.B) {
	b.Run("patience", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, stop := beginPatience(b.Context(), mcp.Nobody, 30*time.Second, 10*time.Minute)
			stop()
		}
	})
	b.Run("deadline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, cancel := context.WithTimeout(b.Context(), 30*time.Second)
			cancel()
		}
	})
	b.Run("progress", func(b *testing.B) {
		_, p, stop := beginPatience(b.Context(), mcp.Nobody, 30*time.Second, 10*time.Minute)
		defer stop()
		m := mcp.Notification(mcp.NotifyProgress, nil)
		b.ReportAllocs()
		for b.Loop() {
			p.Notify(b.Context(), m)
		}
	})
}

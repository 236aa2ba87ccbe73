package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/fault"
)

// Outcome is a call and how it ended, as its caller saw it.
type Outcome struct {
	CallPlan
	Began, Ended time.Time
	Closing      bool       // the host was being closed when it ended
	Refused      bool       // its session was closed: it never began
	Kind         fault.Kind // empty: there is a result
	Text         string     // of the result, or of the error
}

func callID(seed uint64, caller, n int) string { return fmt.Sprintf("s%d.%d.%d", seed, caller, n) }

// callers call until stop is closed, or until the host is; each is in the midst of one call at a time.
type callers struct {
	wg      sync.WaitGroup
	stop    chan struct{}
	closing chan struct{} // the host is being closed

	mu       sync.Mutex
	outs     []Outcome
	problems []string
}

// round is how many calls each caller makes in one session, before the next one begins.
const round = 25

func (w *world) startCallers() *callers {
	c := &callers{stop: make(chan struct{}), closing: make(chan struct{})}
	for i := range w.plan.Sessions {
		var next []func() CallPlan
		for j := range w.plan.Callers {
			next = append(next, w.plan.calls(i*w.plan.Callers+j))
		}
		c.wg.Go(func() {
			for !c.over() {
				c.session(w.host, next)
			}
		})
	}
	return c
}

// session opens one, and closes it after its callers are done.
func (c *callers) session(h *usher.Host, next []func() CallPlan) {
	s, err := h.Session(usher.SessionOptions{Client: "chaos"})
	if err != nil {
		if !c.over() {
			c.mu.Lock()
			c.problems = append(c.problems, "Session: "+err.Error())
			c.mu.Unlock()
			<-c.stop
		}
		return
	}
	defer s.Close("done")
	var wg sync.WaitGroup
	for _, n := range next {
		wg.Go(func() { c.run(s, n) })
	}
	wg.Wait()
}

func (c *callers) over() bool {
	select {
	case <-c.stop:
		return true
	case <-c.closing:
		return true
	default:
		return false
	}
}

func (c *callers) run(s *usher.Session, next func() CallPlan) {
	for range round {
		p := next()
		time.Sleep(p.Think)
		if c.over() {
			return
		}
		c.add(c.call(s, p))
	}
}

func (c *callers) add(o Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outs = append(c.outs, o)
}

func (c *callers) call(s *usher.Session, p CallPlan) Outcome {
	ctx, cancel := context.WithTimeout(context.Background(), p.Deadline)
	defer cancel()
	if p.Cancel > 0 {
		defer time.AfterFunc(p.Cancel, cancel).Stop()
	}
	o := Outcome{CallPlan: p, Began: time.Now()}
	result, err := s.Call(ctx, "mcp."+p.Server+"."+p.Tool, fmt.Appendf(nil, `{"id":%q,"work":%d}`, p.ID, p.Work))
	o.Ended = time.Now()
	select {
	case <-c.closing:
		o.Closing = true
	default:
	}
	if err != nil {
		o.Kind, o.Text, o.Refused = fault.KindOf(err), err.Error(), errors.Is(err, usher.ErrClosed)
	} else {
		o.Text = result.Text()
	}
	return o
}

// end waits for all calls; false if some hang.
func (c *callers) end(limit time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.wg.Wait()
	}()
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

const (
	ackTime    = 10 * time.Second // how long a server may take to acknowledge a subscription
	minPause   = time.Second      // before a subscription that was lost is opened again
	maxPause   = 30 * time.Second
	toldPause  = 5 * time.Minute  // the same for one that the server ended in order
	steadyTime = 30 * time.Second // a subscription that was open for so long counts as a success
)

var (
	errToldOver = errors.New("the server ended the subscription")
	errNoAck    = errors.New("the server didn't acknowledge the subscription in time")
	errRefused  = errors.New("the server refused the subscription")
)

// listener keeps one subscription of a modern server open. It is the Peer of the request.
type listener struct {
	s      *Session
	want   Listen
	first  *first
	misses int // times that it was lost in a row

	mu    sync.Mutex // guards what the reader of the connection shares with run
	acked time.Time  // of the request that is open
	noAck *time.Timer
}

var _ mcp.Peer = (*listener)(nil)

// run opens the subscription again and again until ctx ends or the server refuses it.
func (n *listener) run(ctx context.Context) {
	for {
		err := n.open(ctx)
		if ctx.Err() != nil {
			n.first.settle("stopped")
			return
		}
		n.first.settle(n.s.clean(err.Error()))
		if errors.Is(err, errRefused) {
			return
		}
		timer := time.NewTimer(n.pause(err))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// pause is how long to wait after a subscription ended with err.
func (n *listener) pause(err error) time.Duration {
	n.mu.Lock()
	steady := !n.acked.IsZero() && time.Since(n.acked) >= steadyTime
	n.mu.Unlock()
	told := errors.Is(err, errToldOver)
	if steady || told {
		n.misses = 0
	}
	if told {
		return jitter(toldPause)
	}
	d := min(maxPause, minPause<<min(n.misses, 10))
	n.misses++
	return jitter(d)
}

// jitter changes d by up to a quarter, so that the many clients of a server don't come back at once.
func jitter(d time.Duration) time.Duration { return d - d/4 + rand.N(d/2) }

// open is one request subscriptions/listen, from its sending to its end. It always returns an error.
func (n *listener) open(ctx context.Context) error {
	s := n.s
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n.mu.Lock()
	n.acked = time.Time{}
	n.noAck = time.AfterFunc(ackTime, func() { cancel(errNoAck) })
	n.mu.Unlock()
	defer n.noAck.Stop()
	id := s.ids.Add(1)
	m := &mcp.Message{ID: mcp.IntID(id), Method: mcp.MethodListen, Params: prepend(n.want.params(), s.way.own)}
	m.Mirror = s.mirror(m.Method, m.Params, nil)
	answer, err := plain(n.exchange(ctx, cancel, id, m))
	switch cause := context.Cause(ctx); {
	case cause != nil && err != nil:
		s.tellCancelled(ctx, m, err)
		return cause
	case isUnknown(err):
		return errors.Join(errRefused, err)
	case err != nil:
		return err
	case answer.Error != nil:
		return refusal(answer.Err())
	}
	return errToldOver
}

func (n *listener) exchange(
	ctx context.Context, cancel context.CancelCauseFunc, id int64, m *mcp.Message,
) (*mcp.Message, error) {
	if n.s.handler != nil {
		return n.s.delegate(ctx, m, &stream{n, cancel})
	}
	c := n.s.calls.get(ctx, n, nil)
	c.listens = true
	return n.s.transact(ctx, id, m, c)
}

// refusal marks the errors that another attempt won't change.
func refusal(e *mcp.Error) error {
	switch e.Code {
	case mcp.CodeMethodNotFound, mcp.CodeInvalidParams, mcp.CodeInvalidRequest, mcp.CodeMissingCapability:
		return errors.Join(errRefused, e)
	}
	return e
}

// isUnknown tells the statuses of a server behind HTTP that doesn't know the method.
func isUnknown(err error) bool {
	e, ok := errors.AsType[*transport.StatusError](err)
	if !ok {
		return false
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

// Notify takes what comes for the subscription. It is for one goroutine at a time.
func (n *listener) Notify(_ context.Context, m *mcp.Message) {
	switch m.Method {
	case mcp.NotifyAcknowledged:
		n.acknowledged()
	case mcp.NotifyTools, mcp.NotifyPrompts, mcp.NotifyResources, mcp.NotifyUpdated:
		n.s.o.OnNotify(withoutSubscription(m))
	default:
		n.s.strays.Add(1)
	}
}

// Request refuses: a modern server must not ask.
func (n *listener) Request(_ context.Context, m *mcp.Message) (*mcp.Message, error) {
	return n.s.answerAtOnce(m), nil
}

func (n *listener) acknowledged() {
	n.mu.Lock()
	again := !n.acked.IsZero()
	n.acked = time.Now()
	n.noAck.Stop()
	n.mu.Unlock()
	if !again && !n.first.settle("ok") {
		n.s.stale(n.want)
	}
}

// stream is a listener whose request has a stream of its own, so that nothing must be told apart.
type stream struct {
	*listener
	cancel context.CancelCauseFunc
}

// Notify is that of the listener, and ends the stream when the server says so.
func (t *stream) Notify(ctx context.Context, m *mcp.Message) {
	if m.Method == mcp.NotifyCancelled {
		t.cancel(errToldOver)
		return
	}
	t.listener.Notify(ctx, m)
}

// withoutSubscription takes this hop's key out, so that the notification looks as that of a legacy server does.
func withoutSubscription(m *mcp.Message) *mcp.Message {
	meta := mcp.Member(m.Params, metaKey)
	if mcp.Member(meta, mcp.MetaSubscription) == nil {
		return m
	}
	meta = mcp.SetMember(meta, mcp.MetaSubscription, nil)
	empty := true
	for range mcp.Members(meta) {
		empty = false
		break
	}
	if empty {
		meta = nil
	}
	return mcp.Notification(m.Method, mcp.SetMember(m.Params, metaKey, meta))
}

// subscriptionID reads the id of our request; some servers make a string of it.
func subscriptionID(raw []byte) (int64, bool) {
	if raw[0] == '"' {
		id, err := strconv.ParseInt(mcp.Text(raw), 10, 64)
		return id, err == nil
	}
	return intOf(raw)
}

package duplex

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

const (
	// maxRunning is how many requests run at once; the others wait, and can be cancelled meanwhile. One that has asked
	// its peer doesn't count any more, since the answer has to be read.
	maxRunning = 256
	// maxCalls bounds what runs or waits in all; a request beyond it is refused, a notification dropped.
	maxCalls = 4096
	// maxHeld bounds the bytes of those, likewise: room for four of the longest messages, or for many of the usual ones.
	// Refusing is all there is to do: who stops reading can't hear of cancellations and answers.
	maxHeld = 4 * (mcp.MaxMessage + 4<<10)
	// maxShared bounds the bytes of all connections that share a count.
	maxShared = 1 << 30
	// maxAsks bounds the questions to the peer that wait for an answer.
	maxAsks = 1024

	// endGrace is how long requests may take to end when cancelled, and the output to take the last bytes.
	endGrace = time.Second

	// methodListen is a request that ends only when it is cancelled.
	methodListen = "subscriptions/listen"
)

// A Source brings what the peer sends. Next is called by one goroutine, Stop by any.
type Source interface {
	// Next returns the next frame, the zero Frame for nothing, io.EOF after an orderly end, or why no more can come.
	Next() (Frame, error)
	// Stop makes Next return for good, soon. It reports false if it can't.
	Stop() bool
}

// A Sink takes what the peer shall hear. Write is called by one goroutine, Stop by any.
type Sink interface {
	// Write sends the messages of b in their order. After an error nothing more is written.
	Write(b *Batch) error
	// Stop makes a Write under way, and each later one, fail soon. It reports false if it can't.
	Stop() bool
}

// Serve reads messages from in, lets h answer the requests, each in its own goroutine, and writes to out, until in ends
// (nil after io.EOF), ctx ends (its cause), or one of both fails.
//
// Notifications are handled in order, and before the requests behind them begin; one that asks its peer no longer holds
// those up. notifications/cancelled ends the context of its request, which then gets no answer; it isn't handed to h. A
// panic of h is answered with mcp.CodeInternal, an error of h as the fault it is. The Peer of a request is mute after
// the answer; that of a notification lives as long as the connection.
//
// What waits or runs is bounded, in number and in bytes (64 MiB): a request beyond that is answered with
// mcp.CodeInvalidRequest, a notification is dropped. Shared, if not nil, is what Share counts for all connections of a
// server, and bounds them likewise.
//
// After the end of in, requests have patience to be answered; what is answered by then is written. In every case in is
// stopped last, and Serve has ended all it started when it returns, but for a handler that ignores its context, and a
// read or write under way that can't be stopped.
func Serve(ctx context.Context, in Source, out Sink, h mcp.Handler, patience time.Duration, shared *atomic.Int64) error {
	s := newServer(ctx, h)
	s.shared = shared
	defer s.cancel(nil)
	go s.box.run(out)
	ended := make(chan error, 1)
	go func() { ended <- s.read(in) }()

	var err error
	select {
	case err = <-ended:
		s.finishCalls(patience)
		ended <- err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.box.done:
	}
	if failed := s.end(out); failed != nil {
		err = errors.Join(err, failed)
	}
	if in.Stop() {
		<-ended
	}
	return err
}

type server struct {
	h      mcp.Handler
	ctx    context.Context
	cancel context.CancelCauseFunc
	box    *outbox
	slots  chan struct{} // one for each running call
	shared *atomic.Int64 // nil, or what Share counts

	mu      sync.Mutex
	calls   map[mcp.ID]*call
	pending int // calls and notifications that run or wait; guarded by mu
	held    int // bytes of their messages; guarded by mu
	asks    map[mcp.ID]chan *mcp.Message
	asked   int64          // for ids
	deaf    bool           // nothing comes in any more
	ending  bool           // no call begins any more
	active  sync.WaitGroup // calls and notifications

	before <-chan struct{} // the last notification is done; the reader's alone
}

func newServer(ctx context.Context, h mcp.Handler) *server {
	s := &server{
		h:     h,
		box:   newOutbox(),
		slots: make(chan struct{}, maxRunning),
		calls: make(map[mcp.ID]*call),
		asks:  make(map[mcp.ID]chan *mcp.Message),
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

// finishCalls lets what runs go on for a while.
func (s *server) finishCalls(patience time.Duration) {
	s.mu.Lock()
	s.deaf = true
	for id, answer := range s.asks {
		delete(s.asks, id)
		close(answer)
	}
	for _, c := range s.calls {
		if c.req.Method == methodListen {
			c.cancel()
		}
	}
	s.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.idle():
	case <-timer.C:
	case <-s.ctx.Done():
	case <-s.box.done:
	}
}

// idle is closed when nothing runs. Nothing can begin after it was called.
func (s *server) idle() <-chan struct{} {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		s.active.Wait()
		close(idle)
	}()
	return idle
}

// end cancels what runs and writes what is left.
func (s *server) end(out Sink) error {
	s.cancel(errors.New("the connection has ended"))
	idle := s.idle()
	orderly := within(idle, endGrace)
	s.box.close()
	if !within(s.box.done, endGrace) && out.Stop() {
		<-s.box.done
	}
	if !orderly && !within(idle, endGrace) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("%d requests ignore that they were cancelled", len(s.calls))
	}
	return s.box.failure()
}

// within waits for c, but not longer than limit.
func within(c <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// Share adds n bytes, or takes back -n, to what the connections of a server hold together: of messages that run or wait,
// and of those that are still being read. It reports false, and adds nothing, beyond 1 GiB. Without a count (nil) there
// is no bound. Safe for concurrent use.
func Share(count *atomic.Int64, n int) bool {
	if count == nil || count.Add(int64(n)) <= maxShared || n <= 0 {
		return true
	}
	count.Add(int64(-n))
	return false
}

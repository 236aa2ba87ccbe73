package duplex

import (
	"iter"
	"sync"

	"github.com/usher-mcp/usher/mcp"
)

const (
	// outboxSize is how many bytes may wait before answers wait too and notifications are dropped. One message more may
	// always go in.
	outboxSize = 1 << 20
	// maxKept bounds the buffers that are kept for later, in bytes.
	maxKept = 1 << 20
)

// Batch is some messages to be written, one after the other. It is the Sink's only until Write returns.
type Batch struct {
	buf  []byte
	ends []int // where in buf each message ends, behind its line feed
}

// Lines is all of the batch, a line feed behind each message and none within one.
func (b *Batch) Lines() []byte { return b.buf }

// Messages are the messages without their line feeds.
func (b *Batch) Messages() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		start := 0
		for _, end := range b.ends {
			if !yield(b.buf[start : end-1 : end-1]) {
				return
			}
			start = end
		}
	}
}

func (b *Batch) add(m *mcp.Message) {
	b.buf = append(m.AppendTo(b.buf), '\n')
	b.ends = append(b.ends, len(b.buf))
}

func (b *Batch) clear() {
	if cap(b.buf) > maxKept {
		*b = Batch{}
	}
	b.buf, b.ends = b.buf[:0], b.ends[:0]
}

// outbox writes messages in the order they were put, as many at once as there are. It has one goroutine, run.
type outbox struct {
	mu      sync.Mutex
	change  *sync.Cond
	pending Batch
	closed  bool
	err     error
	done    chan struct{} // all is written, or writing failed
}

func newOutbox() *outbox {
	o := &outbox{done: make(chan struct{})}
	o.change = sync.NewCond(&o.mu)
	return o
}

// put takes m, waiting for room until close. It reports whether m will be written if nothing fails.
func (o *outbox) put(m *mcp.Message) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.pending.buf) >= outboxSize && !o.closed {
		o.change.Wait()
	}
	return o.add(m)
}

// offer takes m only if there is room. It never blocks.
func (o *outbox) offer(m *mcp.Message) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending.buf) < outboxSize && o.add(m)
}

func (o *outbox) add(m *mcp.Message) bool {
	if o.closed || m.Size() > mcp.MaxMessage {
		return false
	}
	o.pending.add(m)
	o.change.Broadcast()
	return true
}

// close lets run write what there is and end.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.change.Broadcast()
}

// failure is nil unless done is closed and something was not written.
func (o *outbox) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *outbox) run(w Sink) {
	defer close(o.done)
	var b Batch
	for {
		b.clear()
		o.take(&b)
		if len(b.ends) == 0 {
			return
		}
		if err := w.Write(&b); err != nil {
			o.fail(err)
			return
		}
	}
}

// take waits for something to write and leaves the memory of b in its place; nothing means the end.
func (o *outbox) take(b *Batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.pending.ends) == 0 && !o.closed {
		o.change.Wait()
	}
	*b, o.pending = o.pending, *b
	o.change.Broadcast()
}

func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err, o.closed = err, true
	o.change.Broadcast()
}

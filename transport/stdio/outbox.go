package stdio

import (
	"io"
	"sync"

	"github.com/usher-mcp/usher/mcp"
)

// outboxSize is how many bytes may wait before answers wait too and notifications are dropped. One message more may
// always go in.
const outboxSize = 1 << 20

// outbox writes messages in the order they were put, as many at once as there are. It has one goroutine, run.
type outbox struct {
	mu      sync.Mutex
	change  *sync.Cond
	pending []byte
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
	for len(o.pending) >= outboxSize && !o.closed {
		o.change.Wait()
	}
	return o.add(m)
}

// offer takes m only if there is room. It never blocks.
func (o *outbox) offer(m *mcp.Message) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending) < outboxSize && o.add(m)
}

func (o *outbox) add(m *mcp.Message) bool {
	if o.closed || m.Size() > mcp.MaxMessage {
		return false
	}
	o.pending = append(m.AppendTo(o.pending), '\n')
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

func (o *outbox) run(w io.Writer) {
	defer close(o.done)
	var batch []byte
	for {
		batch = o.take(batch)
		if len(batch) == 0 {
			return
		}
		if _, err := w.Write(batch); err != nil {
			o.fail(err)
			return
		}
	}
}

// take waits for bytes to write and leaves spare in their place; none means the end.
func (o *outbox) take(spare []byte) []byte {
	if cap(spare) > maxKept {
		spare = nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.pending) == 0 && !o.closed {
		o.change.Wait()
	}
	batch := o.pending
	o.pending = spare[:0]
	o.change.Broadcast()
	return batch
}

func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err, o.closed = err, true
	o.change.Broadcast()
}

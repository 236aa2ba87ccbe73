package http

import (
	"errors"
	"sync"

	"github.com/usher-mcp/usher/mcp"
)

// elsewhere are the requests whose answers may come on the standalone stream. An answer belongs on the stream of its
// POST; but there are servers that send what a closed stream left over on the next one that they have. It may be used by
// many goroutines at once.
type elsewhere struct {
	mu   sync.Mutex
	open map[mcp.ID]*exchange
}

// errElsewhere ends an exchange whose answer came on another stream.
var errElsewhere = errors.New("the answer came on another stream")

func (e *elsewhere) add(id mcp.ID, x *exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open == nil {
		e.open = make(map[mcp.ID]*exchange)
	}
	e.open[id] = x
}

func (e *elsewhere) remove(id mcp.ID, x *exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open[id] == x {
		delete(e.open, id)
	}
}

// give hands an answer, or why it can't be used, to the request with this id, and ends its exchange. It reports false if
// no request has it, or it had its answer.
func (e *elsewhere) give(id mcp.ID, r received) bool {
	e.mu.Lock()
	x := e.open[id]
	delete(e.open, id)
	e.mu.Unlock()
	if x == nil {
		return false
	}
	x.other.Store(&r)
	x.cancel(errElsewhere)
	return true
}

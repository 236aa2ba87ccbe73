package grpc

import (
	"fmt"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
)

const (
	// maxFrame is what is taken of a frame: twice what a message may have, so that the one request that a longer message
	// belongs to can be told. It bounds what a peer can make us hold before it is parsed.
	maxFrame = 2*mcp.MaxMessage + frameHead
	// frameHead is more than what protobuf adds to the message.
	frameHead = 16
	// maxMetadata bounds the metadata of either side, in bytes.
	maxMetadata = 256 << 10
)

func parse(raw []byte) duplex.Frame {
	m, err := mcp.Parse(raw)
	if len(raw) > mcp.MaxMessage {
		err = duplex.ErrTooLong
	}
	if err == nil {
		return duplex.Frame{Message: m, Held: len(raw)}
	}
	if m != nil {
		m = &mcp.Message{ID: m.ID, Method: m.Method} // without what may be long
	}
	return duplex.Frame{Message: m, Reason: err, Raw: raw}
}

func notSent(cause error) error { return fmt.Errorf("%w: %w", transport.ErrNotSent, cause) }

// pump reads one frame ahead, since gRPC's Recv can't be interrupted but by the end of the stream.
type pump struct {
	frames chan duplex.Frame
	done   chan struct{} // nothing more comes: err is set, and frames has been emptied
	err    error
}

func newPump() *pump { return &pump{frames: make(chan duplex.Frame), done: make(chan struct{})} }

// run reads until recv fails. Once stop is closed, what comes is dropped.
func (p *pump) run(recv func() (*mcpv1.Frame, error), stop <-chan struct{}) {
	defer close(p.done)
	for {
		f, err := recv()
		if err != nil {
			p.err = err
			return
		}
		select {
		case p.frames <- parse(f.GetJson()):
		case <-stop:
		}
	}
}

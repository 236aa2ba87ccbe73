package stdio

import (
	"context"
	"io"
	"time"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/mcp"
)

// lastAnswers is how long running requests may go on after the end of the input. A script that writes its requests and
// closes wants their answers.
const lastAnswers = 5 * time.Second

// Serve reads messages from in, lets h answer the requests, each in its own goroutine, and writes to out, until in ends
// (nil), ctx ends (its cause), or one of both fails.
//
// Notifications are handled in order, and before the requests behind them begin; one that asks its peer no longer holds
// those up. notifications/cancelled ends the context of its request, which then gets no answer; it isn't handed to h. A
// panic of h is answered with mcp.CodeInternal, an error of h as the fault it is. The Peer of a request is mute after
// the answer; that of a notification lives as long as the connection. Requests beyond what may wait at once, in number
// or in bytes, are refused.
//
// After the end of in, requests have five seconds to be answered. In every case Serve has ended all it started when it
// returns, but for a handler that ignores its context, and a read or write under way on a stream without deadlines.
func Serve(ctx context.Context, in io.Reader, out io.Writer, h mcp.Handler) error {
	return duplex.Serve(ctx, &source{newFrames(in, mcp.MaxMessage), in}, sink{out}, h, lastAnswers, nil)
}

// source is standard input as duplex reads it.
type source struct {
	frames *frames
	stream io.Reader
}

// sink is standard output as duplex writes to it.
type sink struct{ stream io.Writer }

var (
	_ duplex.Source = (*source)(nil)
	_ duplex.Sink   = sink{}
)

func (s *source) Next() (duplex.Frame, error) { return s.frames.next() }

func (s *source) Stop() bool { return expire(readDeadline(s.stream)) }

func (s sink) Write(b *duplex.Batch) error {
	_, err := s.stream.Write(b.Lines())
	return err
}

func (s sink) Stop() bool { return expire(writeDeadline(s.stream)) }

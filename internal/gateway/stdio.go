package gateway

import (
	"context"
	"io"

	"github.com/usher-mcp/usher/transport/stdio"
)

// ServeStdio serves one client that writes to in and reads from out, as Front does. It returns nil when in ends, else why
// it stopped: ctx, Close, or a stream that failed. A process has one session (O4).
func (g *Gateway) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	f, err := g.connect(viaStdio)
	if err != nil {
		return err
	}
	defer g.disconnect(f, "disconnected")
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(g.ctx, func() { cancel(errClosed) })()
	return stdio.Serve(ctx, in, out, f)
}

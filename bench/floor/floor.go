// Package floor is the baseline that the gateway is measured against: the
// least work with which a proxy can carry an MCP message one hop, HTTP → stdio
// or HTTP → HTTP. The ratio between the gateway and this package, in one
// benchmark run, is the price of everything the gateway does beyond the hop.
//
// To be a fair floor it keeps connections alive, lets many clients share one
// child, bounds what it reads and never decodes a message: it finds the id
// and nothing else. It is not a gateway: no sessions of its own, no policy, no
// authentication, and the child's notifications and requests are dropped, as
// are cancellations. Do not use it for anything but measuring.
package floor

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// MaxMessage is the size in bytes of the largest message either side may send.
const MaxMessage = 16 << 20

// serve answers on l until ctx is done or stop is closed, and closes l. Calls
// in flight are cut off: a benchmark has ended, nobody waits for them.
func serve(ctx context.Context, l net.Listener, h http.Handler, stop <-chan struct{}) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case <-ctx.Done():
	case <-stop:
	case err := <-ended:
		return err
	}
	srv.Close()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

package http

import (
	"errors"
	"fmt"
	nethttp "net/http"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/transport"
)

// checkRedirect lets a request go on as dial.SameHost says, on the Unix socket too.
func checkRedirect(next *nethttp.Request, via []*nethttp.Request) error {
	keepSocket(next, via[0])
	err := dial.SameHost(next, via)
	if e, ok := errors.AsType[*dial.RedirectError](err); ok {
		return fmt.Errorf("%w: %w", err, &transport.StatusError{Status: e.Status})
	}
	return err
}

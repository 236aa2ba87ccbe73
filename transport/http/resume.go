package http

import (
	"errors"
	"fmt"
	"io"

	"github.com/usher-mcp/usher/mcp"
)

// errNothingNew ends the attempts to resume a stream that brings nothing.
var errNothingNew = errors.New("it was resumed several times in a row, and nothing new came")

// mayResume reports whether the rest of a stream that ended with err may be had from the server. One that ended in
// order behind an event that can't be read may have ended behind the answer. A modern server takes the end of a stream
// for a cancellation, whoever ended it (2026-07-28).
func (x *exchange) mayResume(t *track, revision string, err, stray error) bool {
	return revision < mcp.Revision20260728 && t.resumable() && x.ctx.Err() == nil &&
		!errors.Is(err, errEventTooLarge) && (err != io.EOF || stray == nil)
}

// resume waits as long as the server asked for, 1 s if it didn't and 30 s at most, and then asks for the rest of the
// stream, until it flows again. A server that ends each connection soon is kept waiting, up to 1 s, whatever it asks for. The POST itself is never sent again.
func (x *exchange) resume(t *track, revision string) error {
	p := x.conn.pace
	x.stream.Close()
	_ = x.res.Body.Close()
	var failure error = errNothingNew
	for wait := t.retry; t.idle < p.resumes; {
		t.idle++
		if wait == 0 {
			wait = p.first
		}
		if !sleep(x.ctx, min(max(wait, p.floor(minRetry, t.brief)), p.most)) {
			return fmt.Errorf("%w: %w", ErrCut, x.explain("waiting to resume it", x.ctx.Err()))
		}
		res, err := x.conn.listen(x.ctx, x.session, revision, t.lastID)
		if err == nil {
			x.res, x.stream = res, t.open(res.Body)
			return nil
		}
		failure = err
		if _, never := errors.AsType[*noStream](err); never {
			break
		}
		wait = laterOf(t.retry, err)
	}
	if x.ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrCut, x.explain("resuming it", x.ctx.Err()))
	}
	// Of what kind the failure of the GET is says nothing about the call.
	return fmt.Errorf("%w and couldn't be resumed: %s", ErrCut, failure.Error())
}

package stdio

import (
	"context"
	"errors"
	"os"
	"time"
)

// interrupt makes the end of ctx end a read or write under way by passing its deadline, so that isDeadline holds for
// its error. A nil set means that the stream has no deadlines. The function it returns has to be called before the
// stream is used again.
func interrupt(ctx context.Context, set func(time.Time) error) (release func()) {
	if ctx.Done() == nil || set == nil {
		return func() {}
	}
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(fired)
		_ = set(time.Unix(1, 0))
	})
	return func() {
		if !stop() {
			<-fired
			_ = set(time.Time{})
		}
	}
}

func readDeadline(stream any) func(time.Time) error {
	if s, ok := stream.(interface{ SetReadDeadline(time.Time) error }); ok {
		return s.SetReadDeadline
	}
	return nil
}

func writeDeadline(stream any) func(time.Time) error {
	if s, ok := stream.(interface{ SetWriteDeadline(time.Time) error }); ok {
		return s.SetWriteDeadline
	}
	return nil
}

// expire ends what is under way for good. It reports whether the stream can do that.
func expire(set func(time.Time) error) bool { return set != nil && set(time.Unix(1, 0)) == nil }

func isDeadline(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

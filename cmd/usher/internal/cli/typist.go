package cli

import (
	"bufio"
	"context"
	"io"
	"sync"
	"time"
)

// reaction is too fast for anyone to read a question and answer it: what comes sooner was meant for the one before.
const reaction = 300 * time.Millisecond

// typist reads what a person types, at once, so that it is known when each line came. Its goroutine ends with its input.
type typist struct {
	reaction time.Duration // what comes sooner after a question is no answer to it

	mu   sync.Mutex
	last typedLine
	more chan struct{} // closed when there is another line, and another put in its place

	over chan struct{} // closed at the end of the input
}

type typedLine struct {
	text string
	at   time.Time
	err  error // it is the last one
}

func newTypist(in io.Reader, reaction time.Duration) *typist {
	t := &typist{reaction: reaction, more: make(chan struct{}), over: make(chan struct{})}
	go t.read(bufio.NewReader(in))
	return t
}

func (t *typist) read(in *bufio.Reader) {
	for {
		text, err := in.ReadString('\n')
		t.mu.Lock()
		t.last = typedLine{text, time.Now(), err}
		close(t.more)
		t.more = make(chan struct{})
		t.mu.Unlock()
		if err != nil {
			close(t.over)
			return
		}
	}
}

// next is the first line that may be about what was shown at a time. What was typed before is for nothing. The error is
// that of the input, or the cause of ctx's end.
func (t *typist) next(ctx context.Context, shown time.Time) (string, error) {
	for {
		t.mu.Lock()
		l, more := t.last, t.more
		if l.err == nil {
			t.last = typedLine{}
		}
		t.mu.Unlock()
		switch {
		case l.err != nil:
			return "", l.err
		case !l.at.IsZero() && l.at.Sub(shown) >= t.reaction:
			return l.text, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

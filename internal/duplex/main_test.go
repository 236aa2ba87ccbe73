package duplex

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is the plainest framing there is, over any pair of streams.
type lines struct {
	in  *bufio.Reader
	src io.Reader
	out io.Writer
}

func (l *lines) Next() (Frame, error) {
	b, err := l.in.ReadBytes('\n')
	if len(b) == 0 && err != nil {
		return Frame{}, err
	}
	first, _ := Parse(b)
	return first, nil
}

func (l *lines) Stop() bool {
	s, ok := l.src.(interface{ SetReadDeadline(time.Time) error })
	return ok && s.SetReadDeadline(time.Unix(1, 0)) == nil
}

type lineSink struct{ *lines }

func (l lineSink) Write(b *Batch) error {
	_, err := l.out.Write(b.Lines())
	return err
}

func (l lineSink) Stop() bool {
	s, ok := l.out.(interface{ SetWriteDeadline(time.Time) error })
	return ok && s.SetWriteDeadline(time.Unix(1, 0)) == nil
}

const lastAnswers = 5 * time.Second

func serveLines(ctx context.Context, in io.Reader, out io.Writer, h mcp.Handler) error {
	l := &lines{bufio.NewReader(in), in, out}
	return Serve(ctx, l, lineSink{l}, h, lastAnswers, nil)
}

// served is a Serve under test, which runs until its input is closed.
type served struct {
	t      *testing.T
	in     *os.File
	answer *bufio.Reader
}

func start(t *testing.T, h mcp.Handler) *served {
	t.Helper()
	serverIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- serveLines(context.Background(), serverIn, serverOut, h)
		_ = serverOut.Close()
		_ = serverIn.Close()
	}()
	t.Cleanup(func() {
		_ = in.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
		_ = out.Close()
	})
	return &served{t, in, bufio.NewReader(out)}
}

func (s *served) write(lines ...string) {
	s.t.Helper()
	if _, err := s.in.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		s.t.Fatal(err)
	}
}

// read returns the next message.
func (s *served) read() string {
	s.t.Helper()
	b, err := s.answer.ReadBytes('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b, []byte("\n")))
}

func (s *served) expect(want ...string) {
	s.t.Helper()
	for _, w := range want {
		if got := s.read(); got != w {
			s.t.Fatalf("got  %s\nwant %s", got, w)
		}
	}
}

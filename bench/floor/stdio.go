package floor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

const (
	maxInFlight = 4096
	// firstID keeps the ids given to the child apart from the ids of the
	// child's own requests, which SDKs count from 0, and within 32 bits.
	firstID = 1_000_000_000
)

var errTooMany = errors.New("too many calls in flight")

// ServeStdio starts cmd and answers every POST on l with the line that cmd
// writes for it, as application/json; 202 where the message has no id. All
// clients share the one child; initialize reaches it like any other message.
// It returns when ctx is done (nil) or cmd ends (an error), after it has
// closed l and killed and reaped cmd. The caller may set cmd's Dir, Env and
// Stderr, not its Stdin or Stdout.
func ServeStdio(ctx context.Context, l net.Listener, cmd *exec.Cmd) error {
	defer l.Close()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.WaitDelay = 2 * time.Second // for output a grandchild holds open
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("floor: start the server: %w", err)
	}
	c := &child{in: bufio.NewWriterSize(stdin, 64<<10), calls: map[int64]chan reply{}, next: firstID, gone: make(chan struct{})}
	go c.read(stdout)

	err = serve(ctx, l, c, c.gone)
	cmd.Process.Kill()
	stdin.Close() // ends a write that is stuck, and grandchildren
	stdout.Close()
	<-c.gone
	waitErr := cmd.Wait()
	if err == nil && ctx.Err() == nil {
		err = fmt.Errorf("floor: the server ended: %w", errors.Join(c.err, waitErr))
	}
	return err
}

// child is one server process, shared by all clients.
type child struct {
	gone chan struct{} // closed when the child's output ends
	err  error         // why it ended; read only after gone

	write sync.Mutex // one whole line at a time; held while the pipe is full
	in    *bufio.Writer

	mu    sync.Mutex
	next  int64
	calls map[int64]chan reply
}

// reply is a line whose id lies at line[start:end].
type reply struct {
	line       []byte
	start, end int
}

var _ http.Handler = (*child)(nil)

func (c *child) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, ok := readPost(w, r)
	if !ok {
		return
	}
	if bytes.IndexByte(body, '\n') >= 0 { // white space between tokens: no JSON string holds one
		body = bytes.ReplaceAll(body, []byte{'\n'}, []byte{' '})
	}
	start, end, ok := idSpan(body)
	if !ok {
		if err := c.send(body, nil, nil); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	id, answer, err := c.expect()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer c.forget(id)
	var digits [20]byte
	if err := c.send(body[:start], strconv.AppendInt(digits[:0], id, 10), body[end:]); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	select {
	case a := <-answer:
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", strconv.Itoa(len(a.line)-(a.end-a.start)+(end-start)))
		w.Write(a.line[:a.start])
		w.Write(body[start:end])
		w.Write(a.line[a.end:])
	case <-c.gone:
		http.Error(w, "the server ended", http.StatusBadGateway)
	case <-r.Context().Done():
	}
}

// send writes one line made of three parts.
func (c *child) send(before, id, after []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	c.in.Write(before)
	c.in.Write(id)
	c.in.Write(after)
	c.in.WriteByte('\n')
	return c.in.Flush() // an earlier error sticks
}

func (c *child) expect() (int64, <-chan reply, error) {
	answer := make(chan reply, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) >= maxInFlight {
		return 0, nil, errTooMany
	}
	id := c.next
	c.next++
	c.calls[id] = answer
	return id, answer, nil
}

func (c *child) forget(id int64) {
	c.mu.Lock()
	delete(c.calls, id)
	c.mu.Unlock()
}

// take hands out the channel of a call once, so that a second line with the
// same id cannot block the reader.
func (c *child) take(id int64) chan<- reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.calls[id]
	delete(c.calls, id)
	return answer
}

// read gives each line to the call that waits for its id and drops the rest.
func (c *child) read(stdout io.Reader) {
	defer close(c.gone)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 64<<10), MaxMessage)
	for lines.Scan() {
		line := lines.Bytes()
		start, end, ok := idSpan(line)
		if !ok {
			continue
		}
		id, err := strconv.ParseInt(string(line[start:end]), 10, 64)
		if err != nil {
			continue
		}
		if answer := c.take(id); answer != nil {
			answer <- reply{bytes.Clone(line), start, end}
		}
	}
	c.err = lines.Err()
}

// readPost reads the body of a POST; otherwise it answers and returns false.
func readPost(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return nil, false
	}
	return readBody(w, r)
}

// readBody reads the body into one buffer of its size where that is known.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if r.ContentLength > MaxMessage {
		http.Error(w, "message too large", http.StatusRequestEntityTooLarge)
		return nil, false
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead) // room for the read that finds EOF
	}
	if _, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, MaxMessage)); err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, err.Error(), status)
		return nil, false
	}
	return buf.Bytes(), true
}

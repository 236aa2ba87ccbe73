package http

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/internal/eventstream"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// script is one stream of events as a server with an event store keeps it: each has an id, and the first only primes.
type script struct {
	events []string // as written
	want   []string // the data of those that have any
	sloppy bool     // it sends again the event that the client names, and those before
}

// generate writes n messages in all the ways that a stream of events may be written.
func generate(rnd *rand.Rand, n int, message func(i int) string) *script {
	s := &script{sloppy: rnd.IntN(3) == 0}
	for i := range n + 1 {
		end := []string{"\n", "\r", "\r\n"}[rnd.IntN(3)]
		var b strings.Builder
		maybe := func(line string) {
			if rnd.IntN(3) == 0 {
				b.WriteString(line + end)
			}
		}
		maybe(": keep-alive")
		maybe("event: message")
		maybe("retry: 1")
		lines := []string{"id: " + strconv.Itoa(i)}
		if i == 0 {
			lines = append(lines, "data:")
		} else {
			// A message may be spread over lines; the parts are joined with LF.
			parts := strings.SplitN(message(i-1), ",", 1+rnd.IntN(3))
			s.want = append(s.want, strings.Join(parts, ",\n"))
			for k, part := range parts {
				if k < len(parts)-1 {
					part += ","
				}
				lines = append(lines, "data:"+strings.Repeat(" ", rnd.IntN(2))+part)
			}
			if rnd.IntN(2) == 0 { // fields come in any order
				lines = append(lines[1:], lines[0])
			}
		}
		b.WriteString(strings.Join(lines, end) + end + end)
		maybe("")
		maybe(":")
		s.events = append(s.events, b.String())
	}
	return s
}

// after returns what the server sends to a client that names lastID, empty for all.
func (s *script) after(lastID string) []string {
	n, err := strconv.Atoi(lastID)
	if err != nil || s.sloppy {
		return s.events
	}
	return s.events[n+1:]
}

// replay reads s over connections that break after cuts[i] bytes, then over one that doesn't. It returns what came, and
// false if the first connections brought no id to resume from.
func replay(s *script, cuts []int, step int) (got []string, resumable bool, err error) {
	var t track
	for i := 0; ; i++ {
		body := []byte(strings.Join(s.after(t.lastID), ""))
		if i < len(cuts) {
			body = body[:min(cuts[i], len(body))]
		}
		stream := t.open(&steps{bytes.NewReader(body), step})
		var e eventstream.Event
		for e, err = t.next(stream); err == nil; e, err = t.next(stream) {
			got = append(got, string(e.Data))
		}
		stream.Close()
		if err != io.EOF || i == len(cuts) {
			return got, true, err
		}
		if !t.resumable() {
			return got, false, nil
		}
	}
}

// FuzzResume: whatever is cut where, each message comes once and in order.
func FuzzResume(f *testing.F) {
	f.Add(uint64(1), uint8(3), []byte{40, 3, 90}, uint8(1))
	f.Add(uint64(2), uint8(0), []byte{0}, uint8(7))
	f.Add(uint64(3), uint8(20), []byte{255, 1, 1, 1, 1, 200}, uint8(64))
	f.Fuzz(func(t *testing.T, seed uint64, n uint8, in []byte, step uint8) {
		s := generate(rand.New(rand.NewPCG(seed, 0)), int(n), func(i int) string { return fmt.Sprintf("m%d,%x,,é", i, seed) })
		var cuts []int
		for _, c := range in[:min(len(in), 50)] {
			cuts = append(cuts, int(c)*int(c)/16) // up to 4064 bytes, finer among the first
		}
		got, resumable, err := replay(s, cuts, int(step)%64+1)
		switch {
		case !resumable && len(got) > 0:
			t.Fatalf("%q came, and nothing to resume from", got)
		case resumable && (err != io.EOF || !cmp.Equal(got, s.want)):
			t.Fatalf("%v, %s", err, cmp.Diff(s.want, got))
		}
	})
}

// The same for many streams, each cut at every byte.
func TestTrackCutAnywhere(t *testing.T) {
	for seed := range uint64(20) {
		s := generate(rand.New(rand.NewPCG(seed, 1)), 5, func(i int) string { return fmt.Sprintf("m%d,a,b", i) })
		primed := len(s.events[0])
		for cut := range len(strings.Join(s.events, "")) + 1 {
			got, resumable, err := replay(s, []int{cut, cut / 2, cut}, 7)
			if !resumable && cut/2 < primed && cut < 2*primed {
				continue
			}
			if !resumable || err != io.EOF || !cmp.Equal(got, s.want) {
				t.Fatalf("seed %d, cut at %d: resumable %v, %v, %s", seed, cut, resumable, err, cmp.Diff(s.want, got))
			}
		}
	}
}

// The same over sockets: a proxy breaks the connection at every byte behind the first head, and some of the next ones.
func TestCallCutAnywhere(t *testing.T) { // B2
	rnd := rand.New(rand.NewPCG(1, 2))
	s := generate(rnd, 5, func(i int) string {
		if i == 4 {
			return answerText("7")
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"n":%d,"x":"é"}}`, i)
	})
	var want []string
	for i := range 4 {
		want = append(want, fmt.Sprintf(`notifications/progress{"n":%d,"x":"é"}`, i))
	}
	server := serve(t, s.ServeHTTP)
	slots := make(chan struct{}, 16)
	var wg sync.WaitGroup
	// The end of the body is beyond what framing in chunks adds.
	for cut := range len(strings.Join(s.events, "")) + 10*len(s.events) {
		slots <- struct{}{}
		second := rnd.IntN(200)
		wg.Go(func() {
			defer func() { <-slots }()
			cutCall(t, server.Listener.Addr().String(), []int{cut, second}, want, len(s.events[0])+10)
		})
	}
	wg.Wait()
}

func (s *script) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", typeEvents)
	for _, e := range s.after(r.Header.Get("Last-Event-Id")) {
		_, _ = io.WriteString(w, e)
		_ = nethttp.NewResponseController(w).Flush()
	}
}

// cutCall makes one call through connections that break after cuts. It may fail only if the first broke within the
// priming bytes, and then nothing was told.
func cutCall(t *testing.T, address string, cuts []int, want []string, priming int) {
	var mu sync.Mutex
	left := cuts
	p := transporttest.NewProxy(t, "tcp", address, func(client io.Writer, server io.Reader) error {
		mu.Lock()
		limit := int64(1 << 30)
		if len(left) > 0 {
			limit, left = int64(left[0]), left[1:]
		}
		mu.Unlock()
		return passBody(client, server, limit)
	})
	c := connect(t, Options{URL: "http://" + p.Addr})
	defer c.Close()
	heard := peerOf(nil)
	m, err := c.Handle(within(t, 20*time.Second), call(7), heard)
	got := heard.heard()
	for i, line := range got { // line ends between tokens don't matter
		got[i] = strings.ReplaceAll(line, "\n", "")
	}
	switch {
	case err != nil && (!errors.Is(err, ErrCut) || cuts[0] > priming || len(got) > 0):
		t.Errorf("cuts %v: %v, heard %q", cuts, err, got)
	case err == nil && (m.ID != mcp.ID("7") || !slices.Equal(got, want)):
		t.Errorf("cuts %v: heard %q", cuts, got)
	}
}

// passBody passes the head of the first answer and at most limit bytes behind it.
func passBody(client io.Writer, server io.Reader, limit int64) error {
	var head []byte
	b := make([]byte, 1)
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if _, err := server.Read(b); err != nil {
			return err
		}
		head = append(head, b...)
	}
	if _, err := client.Write(head); err != nil {
		return err
	}
	_, err := io.CopyN(client, server, limit)
	return err
}

// FuzzSeen: an id is taken for a copy only if an earlier connection brought it, and never because of another id.
func FuzzSeen(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0, 1, 2, 4})
	f.Add([]byte{129, 1, 0, 129, 1, 0, 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		var s seen
		type brought struct {
			nth  uint32
			data bool
		}
		came := map[string][]brought{}
		nth := uint32(1)
		for _, b := range in[:min(len(in), maxSeen)] {
			if b == 0 {
				nth++
				continue
			}
			id, data := strconv.Itoa(int(b&127)), b < 128
			copied := slices.ContainsFunc(came[id], func(c brought) bool { return c.nth < nth && (c.data || !data) })
			again := slices.ContainsFunc(came[id], func(c brought) bool { return c.nth == nth })
			if added := s.add(id, nth, data); added == copied && !again {
				t.Fatalf("id %s, data %v, connection %d: taken %v, after %v", id, data, nth, added, came[id])
			}
			came[id] = append(came[id], brought{nth, data})
		}
	})
}

func TestSeenIsBounded(t *testing.T) {
	var s seen
	for i := range 3 * maxSeen {
		if !s.add(strconv.Itoa(i), 1, true) {
			t.Fatalf("id %d was taken for a copy", i)
		}
	}
	if len(s.marks) != maxSeen || len(s.order) != maxSeen {
		t.Errorf("%d marks, %d in order", len(s.marks), len(s.order))
	}
	if s.add(strconv.Itoa(3*maxSeen-1), 2, true) || s.add(strconv.Itoa(2*maxSeen), 2, true) {
		t.Error("one of the newest ids was forgotten")
	}
}

// steps reads a few bytes at a time.
type steps struct {
	r io.Reader
	n int
}

func (s *steps) Read(b []byte) (int, error) { return s.r.Read(b[:min(s.n, len(b))]) }

// What the server asks to wait is kept from connection to connection, and is never nothing.
func TestTrackRetry(t *testing.T) {
	var tr track
	for _, c := range []struct {
		in   string
		want time.Duration
	}{{"data: x\n\n", 0}, {"retry: 0\n\n", minRetry}, {"retry: 1500\n\n", 1500 * time.Millisecond}, {"data: y\n\n", 1500 * time.Millisecond}} {
		s := tr.open(strings.NewReader(c.in))
		for err := error(nil); err == nil; {
			_, err = tr.next(s)
		}
		s.Close()
		if tr.retry != c.want {
			t.Errorf("after %q: %v", c.in, tr.retry)
		}
	}
}

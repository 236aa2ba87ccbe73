package http

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

type gotEvent struct{ Name, Data string }

func readEvents(r io.Reader, max int) (got []gotEvent, s *events, err error) {
	s = newEvents(r, max)
	defer s.close()
	for {
		e, err := s.next()
		if err != nil {
			return got, s, err
		}
		got = append(got, gotEvent{e.name, string(e.data)})
	}
}

func TestEvents(t *testing.T) { // WHATWG HTML, "Interpreting an event stream"
	for name, x := range map[string]struct {
		in   string
		want []gotEvent
	}{
		"LF":             {"data: a\n\ndata: b\n\n", []gotEvent{{"", "a"}, {"", "b"}}},
		"CR":             {"data: a\r\rdata: b\r\r", []gotEvent{{"", "a"}, {"", "b"}}},
		"CRLF":           {"data: a\r\n\r\ndata: b\r\n\r\n", []gotEvent{{"", "a"}, {"", "b"}}},
		"mixed":          {"data: a\r\n\ndata: b\n\r", []gotEvent{{"", "a"}, {"", "b"}}},
		"lines":          {"data: a\ndata:b\ndata\ndata:  c\n\n", []gotEvent{{"", "a\nb\n\n c"}}},
		"BOM":            {"\xef\xbb\xbfdata: a\n\n", []gotEvent{{"", "a"}}},
		"BOM later":      {"\n\xef\xbb\xbfdata: a\n\n", nil},
		"comments":       {": hi\n:\ndata: a\n: b\n\n", []gotEvent{{"", "a"}}},
		"name":           {"event: x\ndata: a\n\ndata: b\n\n", []gotEvent{{"x", "a"}, {"", "b"}}},
		"name, no data":  {"event: x\n\ndata: b\n\n", []gotEvent{{"", "b"}}},
		"priming":        {"id: 1\ndata:\n\n", nil},
		"unknown fields": {"datax: a\nfoo\n data: b\ndata: c\n\n", []gotEvent{{"", "c"}}},
		"cut off":        {"data: a\n\ndata: b\n", []gotEvent{{"", "a"}}},
		"colons":         {"data: {\"a\":\"b: c\"}\n\n", []gotEvent{{"", `{"a":"b: c"}`}}},
	} {
		for way, r := range map[string]io.Reader{
			"whole": strings.NewReader(x.in), "bytes": iotest.OneByteReader(strings.NewReader(x.in)),
			"end with data": iotest.DataErrReader(strings.NewReader(x.in)),
		} {
			got, _, err := readEvents(r, 100)
			if err != io.EOF || !cmp.Equal(got, x.want) {
				t.Errorf("%s, %s: %q, %v", name, way, got, err)
			}
		}
	}
}

func TestEventsIDAndRetry(t *testing.T) {
	_, s, _ := readEvents(strings.NewReader("id: 7\nretry: 1500\n\nid: a\x00b\nretry: 1.5\nretry: +9\nretry:\ndata: x\n\n"), 100)
	if s.lastID != "7" || s.retry != 1500*time.Millisecond {
		t.Errorf("id %q, retry %v", s.lastID, s.retry)
	}
	if _, s, _ = readEvents(strings.NewReader("id: 7\n\nid\n\n"), 100); s.lastID != "" {
		t.Errorf("an empty id left %q", s.lastID)
	}
}

// An event whose line ends in CR is there at once: the LF that may follow isn't waited for.
func TestEventsDontWait(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	go func() { _, _ = io.WriteString(w, "data: a\r\n\r") }()
	s := newEvents(r, 100)
	defer s.close()
	if e, err := s.next(); err != nil || string(e.data) != "a" {
		t.Fatalf("%q, %v", e.data, err)
	}
	go func() { _, _ = io.WriteString(w, "\ndata: b\n\n"); _ = w.Close() }()
	if e, err := s.next(); err != nil || string(e.data) != "b" {
		t.Errorf("%q, %v", e.data, err)
	}
}

func TestEventsBound(t *testing.T) {
	const max = 10000
	for name, x := range map[string]struct {
		in   string
		want error
	}{
		"just fits":          {"data: " + strings.Repeat("x", max) + "\n\n", io.EOF},
		"one more":           {"data: " + strings.Repeat("x", max+1) + "\n\n", errEventTooLarge},
		"lines just fit":     {"data: " + strings.Repeat("x", max-2) + "\ndata: y\n\n", io.EOF},
		"lines don't":        {"data: " + strings.Repeat("x", max-1) + "\ndata: y\n\n", errEventTooLarge},
		"many empty lines":   {strings.Repeat("data\n", max+2) + "\n", errEventTooLarge},
		"endless comment":    {":" + strings.Repeat("x", 2*max), errEventTooLarge},
		"many events":        {strings.Repeat("data: "+strings.Repeat("x", max/2)+"\n\n", 10), io.EOF},
		"comments are cheap": {strings.Repeat(": x\n", max) + "data: y\n\n", io.EOF},
	} {
		if _, _, err := readEvents(strings.NewReader(x.in), max); err != x.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// naive reads a whole stream as the standard words it.
func naive(in string) (got []gotEvent) {
	in = strings.TrimPrefix(in, "\xef\xbb\xbf")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(in, "\n")
	var e gotEvent
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if e.Data = strings.TrimSuffix(e.Data, "\n"); e.Data != "" {
				got = append(got, e)
			}
			e = gotEvent{}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			e.Data += value + "\n"
		case "event":
			e.Name = value
		}
	}
	return got
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbfevent: message\r\nid: 1\r\ndata: {\"jsonrpc\":\"2.0\"}\r\n\r\n"), uint8(1))
	f.Add([]byte("data: a\rdata: b\r\r\ndata\n\n: c\n\nretry: 10\n\n"), uint8(3))
	f.Add([]byte("data:\ndata:\n\ndata: x"), uint8(255))
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		want := naive(string(in))
		got, _, err := readEvents(&steps{bytes.NewReader(in), int(step)%64 + 1}, 1<<20)
		if err != io.EOF || !cmp.Equal(got, want) {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
		const small = 8
		got, _, _ = readEvents(bytes.NewReader(in), small)
		for _, e := range got {
			if len(e.Data) > small {
				t.Fatalf("an event of %d bytes", len(e.Data))
			}
		}
	})
}

// steps reads a few bytes at a time.
type steps struct {
	r io.Reader
	n int
}

func (s *steps) Read(b []byte) (int, error) { return s.r.Read(b[:min(s.n, len(b))]) }

package eventstream

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		switch {
		case name == "data":
			e.Data += value + "\n"
		case name == "event":
			e.Name = value[:min(len(value), maxValue)]
		}
	}
	return got
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbfevent: message\r\nid: 1\r\ndata: {\"jsonrpc\":\"2.0\"}\r\n\r\n"), uint8(1))
	f.Add([]byte("data: a\rdata: b\r\r\ndata\n\n: c\n\nretry: 10\n\n"), uint8(3))
	f.Add([]byte("data:\ndata:\n\ndata: x"), uint8(255))
	f.Add([]byte("event: endpoint\ndata: /messages?sessionId=1\n\n: keep-alive\n\n"), uint8(7))
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		want := naive(string(in))
		got, err := readAll(NewReader(&steps{bytes.NewReader(in), int(step)%64 + 1}, 1<<20))
		if err != io.EOF || !cmp.Equal(got, want) {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
		if got = skipLong(t, in, step); !cmp.Equal(got, want) {
			t.Fatalf("with a small bound: %q; want %q", got, want)
		}
	})
}

// skipLong reads with a small bound and puts together what went by.
func skipLong(t *testing.T, in []byte, step uint8) (got []gotEvent) {
	const small = 8
	r := NewReader(&steps{bytes.NewReader(in), int(step)%64 + 1}, small)
	defer r.Close()
	var passed []byte
	r.Long = func(b []byte) { passed = append(passed, b...) }
	for {
		e, err := r.Next()
		switch {
		case err == io.EOF:
			return got
		case err == ErrTooLarge && len(passed) > small:
			e.Data, passed = passed, nil
		case err != nil || len(passed) > 0 || len(e.Data) > small:
			t.Fatalf("%+v, %v with %q passed", e, err, passed)
		}
		got = append(got, gotEvent{e.Name, string(e.Data)})
	}
}

// steps reads a few bytes at a time.
type steps struct {
	r io.Reader
	n int
}

func (s *steps) Read(b []byte) (int, error) { return s.r.Read(b[:min(s.n, len(b))]) }

package eventstream

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/fault"
)

type gotEvent struct{ Name, Data string }

func readAll(r *Reader) (got []gotEvent, err error) {
	defer r.Close()
	for {
		e, err := r.Next()
		if err != nil {
			return got, err
		}
		got = append(got, gotEvent{e.Name, string(e.Data)})
	}
}

func TestReader(t *testing.T) { // WHATWG HTML, "Interpreting an event stream"
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
		"BOM, comment":   {"\xef\xbb\xbf: hi\ndata: a\n\n", []gotEvent{{"", "a"}}},
		"BOM later":      {"\n\xef\xbb\xbfdata: a\n\n", nil},
		"comments":       {": hi\n:\ndata: a\n: b\n\n", []gotEvent{{"", "a"}}},
		"name":           {"event: x\ndata: a\n\ndata: b\n\n", []gotEvent{{"x", "a"}, {"", "b"}}},
		"name twice":     {"event: x\nevent: y\ndata: a\n\n", []gotEvent{{"y", "a"}}},
		"name undone":    {"event: x\nevent\ndata: a\n\n", []gotEvent{{"", "a"}}},
		"name, no data":  {"event: x\n\ndata: b\n\n", []gotEvent{{"", "b"}}},
		"long name":      {"event: " + strings.Repeat("x", maxValue+1) + "\ndata: b\n\n", []gotEvent{{strings.Repeat("x", maxValue), "b"}}},
		"priming":        {"id: 1\ndata:\n\n", nil},
		"unknown fields": {"datax: a\nfoo\n data: b\ndat: x\nDATA: y\ndata: c\n\n", []gotEvent{{"", "c"}}},
		"cut off":        {"data: a\n\ndata: b\n", []gotEvent{{"", "a"}}},
		"colons":         {"data: {\"a\":\"b: c\"}\n\n", []gotEvent{{"", `{"a":"b: c"}`}}},
	} {
		for way, r := range map[string]io.Reader{
			"whole": strings.NewReader(x.in), "bytes": iotest.OneByteReader(strings.NewReader(x.in)),
			"end with data": iotest.DataErrReader(strings.NewReader(x.in)),
		} {
			got, err := readAll(NewReader(r, 100))
			if err != io.EOF || !cmp.Equal(got, x.want) {
				t.Errorf("%s, %s: %q, %v", name, way, got, err)
			}
		}
	}
}

func TestReaderIDAndRetry(t *testing.T) {
	for in, want := range map[string]string{
		"id: 7\n\n":                                "7",
		"id: 7\n\nid: a\x00b\ndata: x\n\n":         "7",
		"id: 7\n\nid\n\n":                          "",
		"id: 7\n\nid: 8\ndata: cut off":            "7",
		"id: 7\n\nid: 8\ndata: cut off\n":          "7",
		"id: 7\n\ndata: x\n\ndata: y\n\n":          "7",
		"id: 7\n\nid: 8\n\n":                       "8",
		"id:" + strings.Repeat("7", 5000) + "\n\n": "",
		"id: 7\n\nid: " + strings.Repeat("x", maxValue+1) + "\ndata: x\n\n": "", // it can't be said any more how far the stream is
	} {
		r := NewReader(strings.NewReader(in), 10000)
		_, err := readAll(r)
		if got, _ := r.LastID(); err != io.EOF || got != want {
			t.Errorf("%.30q left the id %.30q, %v", in, got, err)
		}
	}
	for in, want := range map[string]bool{"data: x\n\n": false, "id: 7\ndata: x": false, "id\n\n": true} {
		r := NewReader(strings.NewReader(in), 100)
		if _, err := readAll(r); err != io.EOF {
			t.Error(err)
		}
		if _, ok := r.LastID(); ok != want {
			t.Errorf("%q has an id: %v", in, ok)
		}
	}
	r := NewReader(strings.NewReader("retry: 1500\nretry: 1.5\nretry: +9\nretry:\nretry\nretry: 99999999999\n"), 100)
	_, err := readAll(r)
	if got, ok := r.Retry(); err != io.EOF || got != 1500*time.Millisecond || !ok {
		t.Errorf("retry is %v, %v, %v", got, ok, err)
	}
}

// An event whose line ends in CR is there at once: the LF that may follow isn't waited for.
func TestReaderDoesntWait(t *testing.T) {
	in, w := io.Pipe()
	defer in.Close()
	go func() { _, _ = io.WriteString(w, "data: a\r\n\r") }()
	r := NewReader(in, 100)
	defer r.Close()
	if e, err := r.Next(); err != nil || string(e.Data) != "a" {
		t.Fatalf("%q, %v", e.Data, err)
	}
	go func() { _, _ = io.WriteString(w, "\ndata: b\n\n"); _ = w.Close() }()
	if e, err := r.Next(); err != nil || string(e.Data) != "b" {
		t.Errorf("%q, %v", e.Data, err)
	}
}

func TestReaderBound(t *testing.T) {
	const max = 10000
	for name, x := range map[string]struct {
		in   string
		want error
	}{
		"just fits":          {"data: " + strings.Repeat("x", max) + "\n\n", io.EOF},
		"one more":           {"data: " + strings.Repeat("x", max+1) + "\n\n", ErrTooLarge},
		"without an end":     {"data: " + strings.Repeat("x", max+1), ErrTooLarge},
		"lines just fit":     {"data: " + strings.Repeat("x", max-2) + "\ndata: y\n\n", io.EOF},
		"lines don't":        {"data: " + strings.Repeat("x", max-1) + "\ndata: y\n\n", ErrTooLarge},
		"many empty lines":   {strings.Repeat("data\n", max+2) + "\n", ErrTooLarge},
		"long comment":       {":" + strings.Repeat("x", 2*max) + "\ndata: y\n\n", io.EOF},
		"long unknown field": {strings.Repeat("x", 2*max) + "\ndata: y\n\n", io.EOF},
		"many events":        {strings.Repeat("data: "+strings.Repeat("x", max/2)+"\n\n", 10), io.EOF},
		"many comments":      {strings.Repeat(": x\n", max) + "data: y\n\n", io.EOF},
	} {
		if _, err := readAll(NewReader(strings.NewReader(x.in), max)); err != x.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if fault.KindOf(ErrTooLarge) != fault.TooLarge {
		t.Errorf("ErrTooLarge is of the kind %v", fault.KindOf(ErrTooLarge))
	}
}

// What is too long goes by, and the stream goes on behind it.
func TestReaderLong(t *testing.T) {
	long := strings.Repeat("x", 9000) + "\n" + strings.Repeat("y", 9000)
	in := "data: a\n\nevent: big\ndata: " + strings.ReplaceAll(long, "\n", "\ndata:") + "\n\ndata: b\n\n"
	r := NewReader(strings.NewReader(in), 8)
	defer r.Close()
	var passed strings.Builder
	r.Long = func(b []byte) { passed.Write(b) }
	if e, err := r.Next(); err != nil || string(e.Data) != "a" {
		t.Fatalf("%q, %v", e.Data, err)
	}
	if e, err := r.Next(); err != ErrTooLarge || e.Name != "big" || passed.String() != long {
		t.Fatalf("%+v, %v, %d bytes passed", e, err, passed.Len())
	}
	if e, err := r.Next(); err != nil || string(e.Data) != "b" || e.Name != "" {
		t.Fatalf("%+v, %v", e, err)
	}
}

func TestReaderDrain(t *testing.T) {
	r := NewReader(iotest.OneByteReader(strings.NewReader("data: a\n\n"+strings.Repeat("x", 100))), 100)
	defer r.Close()
	if _, err := r.Next(); err != nil || r.Ended() {
		t.Fatalf("%v, ended: %v", err, r.Ended())
	}
	if r.Drain(50) || !r.Drain(51) || !r.Ended() {
		t.Errorf("ended: %v", r.Ended())
	}
	cut := errors.New("cut")
	if _, err := readAll(NewReader(io.MultiReader(strings.NewReader("data: a\n"), iotest.ErrReader(cut)), 100)); err != cut {
		t.Errorf("got %v, want the reader's error", err)
	}
}

// Events with an id alone say how far the stream is; who asks for them gets them, each with its own id.
func TestReaderIDs(t *testing.T) {
	r := NewReader(strings.NewReader("id: 1\ndata:\n\ndata: a\n\nid: 2\ndata: b\n\nid\n\n: x\n\n"), 100)
	defer r.Close()
	r.IDs = true
	for _, want := range []Event{{ID: "1"}, {Data: []byte("a")}, {ID: "2", Data: []byte("b")}} {
		if got, err := r.Next(); err != nil || got.ID != want.ID || string(got.Data) != string(want.Data) {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if e, err := r.Next(); err != io.EOF {
		t.Errorf("got %+v, %v", e, err)
	}
}

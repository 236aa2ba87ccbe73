package stdio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// chunks yields its bytes in small pieces, and a passed deadline before each.
type chunks struct {
	rest []byte
	size int
	late bool
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.late = !c.late; c.late {
		return 0, os.ErrDeadlineExceeded
	}
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.size)], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// FuzzLines holds the reader against bytes.Split, with a bound that is easily passed. The stream pauses at each byte.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\n\r\n{\"id\":1}\r\nlast"), uint16(3), uint16(8))
	f.Fuzz(func(t *testing.T, stream []byte, chunk, limit uint16) {
		size, bound := int(chunk)+1, int(limit)+1
		want := bytes.Split(stream, []byte("\n"))
		if n := len(want) - 1; len(want[n]) == 0 {
			want = want[:n]
		}
		l := newLines(&chunks{rest: stream, size: size}, bound)
		for i := 0; ; {
			line, over, err := l.next()
			switch {
			case err == os.ErrDeadlineExceeded:
				continue
			case err == io.EOF:
				if i != len(want) {
					t.Fatalf("%d lines, want %d", i, len(want))
				}
				return
			case err != nil:
				t.Fatal(err)
			case (over != nil) != (len(want[i]) > bound):
				t.Fatalf("line %d of %d bytes, bound %d: overlong is %v", i, len(want[i]), bound, over != nil)
			case over == nil && !bytes.Equal(line, bytes.TrimSuffix(want[i], []byte("\r"))):
				t.Fatalf("line %d is %q, want %q", i, line, want[i])
			case over != nil && !bytes.HasPrefix(want[i], over.sample):
				t.Fatalf("line %d is sampled as %q, is %q", i, over.sample, want[i])
			}
			i++
		}
	})
}

// FuzzFrames checks that what is told of an overlong message is what is told of it when it isn't cut.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","result":{"id":5,"a":["]",{}]},"id":"x\"y"}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"a"},7]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.ReplaceAll(b, []byte("\n"), nil)
		whole, err := newFrames(bytes.NewReader(b), len(b)).next()
		if err != nil || len(b) < 2 || b[0] == '[' {
			return
		}
		cut, err := newFrames(iotest.OneByteReader(bytes.NewReader(b)), 1).next()
		if err != nil || cut.Reason == nil {
			t.Fatalf("an overlong line came as %+v, %v", cut, err)
		}
		if whole.Message == nil || whole.Reason != nil || bytes.Contains(b, []byte(`\`)) {
			return // which of its parts count is open, or a key has escapes
		}
		if whole.Message.ID == "" && whole.Message.Method == "" {
			return // it names no call
		}
		if cut.Message == nil || cut.Message.ID != whole.Message.ID || cut.Message.Method != whole.Message.Method {
			t.Fatalf("%s: told %+v when cut, %+v when not", b, cut.Message, whole.Message)
		}
	})
}

func TestOverlongTells(t *testing.T) {
	for in, want := range map[string]string{
		`{"result":{"id":5,"x":"\"id\":6"},"jsonrpc":"2.0","id":7}`: `7 `,
		`{"id":"a\"}","result":[{"id":1}]}`:                         `"a\"}" `,
		`{"id":7,"method":"ping","params":{"method":"x"}}`:          `7 ping`,
		`{"id":7,"id":8,"result":{}}`:                               `7 `,
		`{"id":7,"result":{"cut`:                                    `7 `,
		`{"id":{"a":1},"result":{}}`:                                ``,
		`{"id":1.5,"result":{}}`:                                    ``,
		`{"id":"` + strings.Repeat("x", 5000) + `","result":{}}`:    ``,
		`{"result":{"id":7}}`:                                       ``,
		`text {"id":7}`:                                             ``,
		`[{"id":7}]`:                                                ``,
		`{"id":7} {"id":8}`:                                         ``,
		`}}{"id":7}`:                                                ``,
	} {
		f, err := newFrames(strings.NewReader(in), 4).next()
		if err != nil || f.Reason == nil {
			t.Fatalf("%s: %+v, %v", in, f, err)
		}
		got := ""
		if f.Message != nil {
			got = string(f.Message.ID) + " " + f.Message.Method
		}
		if got != want {
			t.Errorf("%s: told %q, want %q", in, got, want)
		}
	}
}

func TestReadErrorIsKept(t *testing.T) {
	broken := errors.New("broken")
	f := newFrames(io.MultiReader(strings.NewReader("7\nhalf"), iotest.ErrReader(broken)), 100)
	if first, err := f.next(); err != nil || first.Reason == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	if _, err := f.next(); err != broken {
		t.Errorf("got %v", err)
	}
}

func TestBatchIsBounded(t *testing.T) {
	const maxBatch = 1000 // of duplex.Parse
	one := `{"jsonrpc":"2.0","method":"a"}`
	f := newFrames(strings.NewReader("["+one+strings.Repeat(","+one, 2*maxBatch)+"]"), 1<<20)
	n := 0
	for next, err := f.next(); err == nil; next, err = f.next() {
		if n++; next.Reason != nil && n <= maxBatch {
			t.Fatalf("message %d: %v", n, next.Reason)
		}
	}
	if n != maxBatch+1 {
		t.Errorf("%d frames, want %d and one for the rest", n, maxBatch)
	}
}

// A flood is told once a second.
func TestStraysAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []int
		s := strays{tell: func(count int, _ string) { told = append(told, count) }, redact: func(b []byte) []byte { return b }}
		for range 40 {
			s.add([]byte("x"))
			time.Sleep(100 * time.Millisecond) // of the bubble's clock
		}
		s.flush()
		s.flush()
		sum := 0
		for _, n := range told {
			sum += n
		}
		if len(told) != 5 || told[0] != 1 || sum != 40 {
			t.Errorf("told %v", told)
		}
	})
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m":             "red",
		"\x1b]0;title\x07text":             "text",
		"\x1b]8;;http://x\x1b\\link\x1b(B": "link",
		"a\tb\x00c\u202ed\u200be\r":        "a.b.c.d.e.",
		"\xff\x1b":                         "?.",
		"Größe 大":                          "Größe 大",
	} {
		if got := printable(in, ""); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// G4: a secret at the cut of an overlong line's sample leaves no part of itself.
func TestSampleOfAnOverlongLine(t *testing.T) {
	const secret = "SECRETTOKEN1234567890"
	for pad := 175; pad < 205; pad += 6 {
		line := strings.Repeat("x", pad) + secret + strings.Repeat("y", mcp.MaxMessage)
		f, err := newFrames(strings.NewReader(line+"\n"), mcp.MaxMessage).next()
		if err != nil {
			t.Fatal(err)
		}
		s := strays{redact: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(secret), []byte("[redacted:1]")) }}
		s.add(f.Raw)
		if _, sample := s.seen(); strings.Contains(sample, "SECRET") {
			t.Fatalf("the sample ends in %q", sample[max(0, len(sample)-30):])
		}
	}
}

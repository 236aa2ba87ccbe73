package http

import (
	"bytes"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/usher-mcp/usher/fault"
)

const (
	chunkSize  = 4 << 10
	maxEventID = 4 << 10
	// fieldSlack is what a line may be longer than the longest data: the field's name.
	fieldSlack = 16
)

var (
	errEventTooLarge error = fault.New(fault.TooLarge, "an event of the stream is longer than 16 MiB")
	byteOrderMark          = []byte("\xef\xbb\xbf")
	chunks                 = sync.Pool{New: func() any { return new([chunkSize]byte) }}
)

// event is one event of a stream that has data. The data belongs to whoever gets it.
type event struct {
	name string // empty: "message"
	data []byte
}

// events reads a stream of events (WHATWG HTML, "Server-sent events"): lines end in LF, CR or CRLF; data lines are
// joined with LF; an event that the end of the stream cuts off is dropped. Events without data are not yielded, though
// their id and retry count. It holds at most one event, bounded by max, and one chunk. One goroutine may use it.
type events struct {
	lastID string        // of the newest event that had one
	retry  time.Duration // what the server asked to wait before reconnecting; 0: it didn't

	r      io.Reader
	max    int
	chunk  *[chunkSize]byte
	unread []byte // of chunk
	err    error  // of r, to be reported after unread

	line    []byte // the beginning of a line that doesn't end in its chunk
	begun   bool
	skipLF  bool // the last line ended in CR
	name    string
	data    []byte
	hasData bool
}

func newEvents(r io.Reader, max int) *events {
	return &events{r: r, max: max, chunk: chunks.Get().(*[chunkSize]byte)}
}

// close gives the chunk back; nothing that was yielded lies in it.
func (s *events) close() {
	if s.chunk != nil {
		chunks.Put(s.chunk)
		s.chunk, s.unread = nil, nil
	}
}

// next returns the next event with data, io.EOF at the end of the stream, errEventTooLarge (after which the stream is
// of no use), or the error of the reader.
func (s *events) next() (event, error) {
	for {
		line, own, err := s.readLine()
		if err != nil {
			return event{}, err
		}
		if !s.begun {
			s.begun = true
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if len(line) > 0 {
			if err := s.field(line, own); err != nil {
				return event{}, err
			}
			continue
		}
		e := event{s.name, s.data}
		s.name, s.data, s.hasData = "", nil, false
		if len(e.data) > 0 {
			return e, nil
		}
	}
}

// readLine returns a line without its end. It lies in the chunk, unless own says that it is the caller's. A line that
// ends in CR is returned at once: whether LF follows is looked at later, since it may come much later.
func (s *events) readLine() (line []byte, own bool, err error) {
	for {
		if s.skipLF && len(s.unread) > 0 {
			s.skipLF = false
			s.unread = bytes.TrimPrefix(s.unread, []byte("\n"))
		}
		end := lineEnd(s.unread)
		if len(s.line)+max(end, 0) > s.max+fieldSlack || end < 0 && len(s.line)+len(s.unread) > s.max+fieldSlack {
			return nil, false, errEventTooLarge
		}
		if end >= 0 {
			line, s.skipLF = s.unread[:end], s.unread[end] == '\r'
			s.unread = s.unread[end+1:]
			if s.line != nil {
				line, own, s.line = append(s.line, line...), true, nil
			}
			return line, own, nil
		}
		if len(s.unread) > 0 {
			s.line = append(s.line, s.unread...)
		}
		if s.unread = nil; s.err != nil {
			return nil, false, s.err
		}
		var n int
		n, s.err = s.r.Read(s.chunk[:])
		s.unread = s.chunk[:n]
	}
}

func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// field takes in one line that isn't empty. Unknown fields and comments mean nothing.
func (s *events) field(line []byte, own bool) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		return s.addData(value, own)
	case "event":
		s.name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 && len(value) <= maxEventID {
			s.lastID = string(value)
		}
	case "retry":
		if n, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			s.retry = time.Duration(n) * time.Millisecond
		}
	}
	return nil
}

func (s *events) addData(value []byte, own bool) error {
	switch {
	case len(s.data)+len(value) > s.max || s.hasData && len(s.data)+len(value) == s.max:
		return errEventTooLarge
	case s.hasData:
		s.data = append(append(s.data, '\n'), value...)
	case own:
		s.data = value
	default:
		s.data = bytes.Clone(value)
	}
	s.hasData = true
	return nil
}

// drain reads what follows, at most budget bytes, and reports whether the stream came to its end.
func (s *events) drain(budget int) bool {
	for s.err == nil && budget > 0 {
		var n int
		n, s.err = s.r.Read(s.chunk[:])
		budget -= n
	}
	return s.err == io.EOF
}

package eventstream

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/usher-mcp/usher/fault"
)

const chunkSize = 4 << 10

// ErrTooLarge says that the data of an event is longer than the reader's bound. Its fault.Kind is TooLarge.
var ErrTooLarge error = fault.New(fault.TooLarge, "an event of the stream is longer than is allowed")

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// Event is one event of a stream. The data belongs to whoever gets it.
type Event struct {
	Name string // empty: "message"; of a longer one the first 4 KiB
	ID   string // its own; empty: it has none, or one that is longer than 4 KiB
	Data []byte
}

// Reader reads a stream: lines end in LF, CR or CRLF; data lines are joined with LF; an event that the end of the
// stream cuts off is dropped, with its id. Events without data are not yielded unless IDs asks for them, though their id
// and retry count. It keeps at most the data of one event, within the bound, and 20 KiB. One goroutine may use it.
type Reader struct {
	// IDs has Next also yield events that have an ID and no data.
	IDs bool
	// Long is given the data of an event that is longer than the bound as it goes by, piece by piece, in memory that
	// it must not keep. Next then returns ErrTooLarge where that event ends, and can go on. Nil: Next returns
	// ErrTooLarge at once, and the stream is of no use any more.
	Long func(data []byte)

	r      io.Reader
	max    int
	chunk  *[chunkSize]byte
	unread []byte // of chunk
	err    error  // of r, to be reported after unread
	skipLF bool   // the last line ended in CR

	line  line
	event pending

	lastID   string
	hasID    bool // some event had one
	retry    time.Duration
	hasRetry bool
}

// pending is the event whose end hasn't come.
type pending struct {
	name    string
	id      string
	hasID   bool
	data    []byte
	hasData bool // a data line came
	long    bool // data went to Long
}

// NewReader returns a Reader of r that keeps at most max bytes of an event's data. Close must follow.
func NewReader(r io.Reader, max int) *Reader {
	return &Reader{r: r, max: max, chunk: chunks.Get().(*[chunkSize]byte), line: line{first: true}}
}

// Close gives memory back. It doesn't close what is read from.
func (r *Reader) Close() {
	if r.chunk != nil {
		chunks.Put(r.chunk)
		r.chunk, r.unread, r.err = nil, nil, io.ErrClosedPipe
	}
}

// LastID is the id of the newest whole event that had one, since an event that is cut off must come again; empty also
// after an id that is longer than 4 KiB. ok is false if none had.
func (r *Reader) LastID() (id string, ok bool) { return r.lastID, r.hasID }

// Retry is how long the server asked to wait before reconnecting. ok is false if it didn't ask.
func (r *Reader) Retry() (wait time.Duration, ok bool) { return r.retry, r.hasRetry }

// Next returns the next event, io.EOF at the end of the stream, ErrTooLarge (see Long), or the error of what
// is read from.
func (r *Reader) Next() (Event, error) {
	for {
		if r.skipLF && len(r.unread) > 0 {
			r.skipLF = false
			r.unread = bytes.TrimPrefix(r.unread, []byte("\n"))
		}
		end := lineEnd(r.unread)
		if end < 0 {
			if err := r.take(r.unread); err != nil {
				return Event{}, err
			}
			if err := r.fill(); err != nil {
				return Event{}, err
			}
			continue
		}
		part := r.unread[:end]
		// Whether LF follows a CR is looked at later: it may come much later.
		r.skipLF = r.unread[end] == '\r'
		r.unread = r.unread[end+1:]
		if err := r.take(part); err != nil {
			return Event{}, err
		}
		if complete, err := r.endLine(); err != nil {
			return Event{}, err
		} else if !complete {
			continue
		}
		if e, err := r.dispatch(); err != nil || len(e.Data) > 0 || r.IDs && e.ID != "" {
			return e, err
		}
	}
}

// fill reads the next chunk, once all of the last is taken.
func (r *Reader) fill() error {
	if r.unread = nil; r.err != nil {
		return r.err
	}
	var n int
	n, r.err = r.r.Read(r.chunk[:])
	r.unread = r.chunk[:n]
	return nil
}

// Drain reads what follows, at most budget bytes, and drops it. It reports whether the stream came to its end.
func (r *Reader) Drain(budget int) bool {
	for r.err == nil && budget > 0 {
		var n int
		n, r.err = r.r.Read(r.chunk[:])
		budget -= n
	}
	return r.Ended()
}

// Ended reports whether the end of the stream was read, although Next may still have events before it.
func (r *Reader) Ended() bool { return r.err == io.EOF }

func (r *Reader) dispatch() (Event, error) {
	e := r.event
	if r.event = (pending{}); e.hasID {
		r.lastID, r.hasID = e.id, true
	}
	if e.long {
		return Event{Name: e.name, ID: e.id}, ErrTooLarge
	}
	return Event{e.name, e.id, e.data}, nil
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

package approval

import (
	"errors"
	"fmt"
	"time"
)

// The reasons why an answer wasn't taken.
var (
	ErrUnknown  = errors.New("there is no such question, or it ended long ago")
	ErrAnswered = errors.New("the question has been answered already")
	ErrExpired  = errors.New("the question has expired: nobody answered in time, which is a no; the call has to be made again")
)

// ErrElsewhere is the cause with which an Asker's context ends when another answer came first.
var ErrElsewhere = errors.New("it was answered elsewhere")

// errWaited is the cause with which an Asker's context ends when the call waits no longer.
var errWaited = errors.New("the call waits no longer; the question can be answered elsewhere")

// errClosed says that the Queue ended.
var errClosed = errors.New("usher is closing")

// Open says that nobody has answered yet. The question stays open until Expires: once it is answered with yes, the
// identical call passes, once.
type Open struct {
	ID      string
	Expires time.Time
}

// Error says how long the question stays open.
func (o *Open) Error() string {
	return fmt.Sprintf("nobody has answered yet; question %s stays open until %s", o.ID, o.Expires.Format("15:04:05"))
}

// Full says that too many questions are open for another one. Those of other sessions aren't affected, unless it says so.
type Full struct {
	Of    string // "this session", "this client" or "usher"
	Count int    // open questions of that one
	Bytes int64  // of their arguments
}

// Error says what to do.
func (f *Full) Error() string {
	return fmt.Sprintf("%s has %d questions open (%d bytes of arguments), and can't ask another: answer some of them, or wait until they expire", f.Of, f.Count, f.Bytes)
}

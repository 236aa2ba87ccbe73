package approval

import (
	"context"
	"time"
)

// Store keeps questions. Implementations are safe for concurrent use, also by several processes where they share one.
type Store interface {
	// Read runs f on one consistent state.
	Read(ctx context.Context, f func(Tx) error) error
	// Write runs f alone: no other Write, of any process, overlaps it. All that f did is kept, durably, when Write
	// returns nil; else nothing of it is. f may run more than once, each time on the state as it is.
	Write(ctx context.Context, f func(Tx) error) error
}

// Tx is the state of a Store within Read or Write. It ends with that, and is for one goroutine.
type Tx interface {
	// Get returns ErrUnknown where there is no such row.
	Get(id string) (Row, error)
	// Find returns the rows with this key, the oldest first.
	Find(key string) ([]Row, error)
	// All returns all rows, the oldest first.
	All() ([]Row, error)
	// Put adds a row, or takes the place of the one with its ID. It leaves Args alone.
	Put(Row) error
	// Delete removes a row and its arguments.
	Delete(id string) error

	// Args returns the arguments of a row; nil where none are kept.
	Args(id string) ([]byte, error)
	// SetArgs keeps the arguments of a row that is there; nil lets go of them.
	SetArgs(id string, args []byte) error
}

// Row is one question as a Store keeps it.
type Row struct {
	ID      string
	Key     string // of what the question is bound to, but for the session
	Session string // that asked last
	Owner   string // the process whose session it is
	Client  string // a hash of principal and client
	Over    bool   // the session has ended
	State   State
	Asked   time.Time // whole milliseconds
	Expires time.Time // whole milliseconds
	Bytes   int64     // how long the arguments are
	Body    []byte    // all else, for this package only; at most 64 KiB
}

// State is how far a question has come.
type State uint8

// The states. A Store keeps their numbers.
const (
	Waiting   State = iota // nobody has answered
	Allowed                // a yes that no call has used yet
	Used                   // a yes that one call has used
	Denied                 // a no
	Expired                // nobody answered in time
	Withdrawn              // its call ended, and nobody else could have answered
)

var stateNames = [...]string{"waiting", "allowed", "used", "denied", "expired", "withdrawn"}

// String returns the name that programs read.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

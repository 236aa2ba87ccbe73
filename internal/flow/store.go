package flow

import (
	"context"
	"time"
)

// Mark says that something of a source is here.
type Mark struct {
	Source string    // the server as the configuration calls it, Local, Unknown, or another carrier's kind and name
	Labels Labels    // what it is
	At     time.Time // when it was last seen to be here
}

// A Store keeps marks under keys: what a server was given, and what a client knows. It outlives the process and is shared
// with others. It promises:
//
//   - Add is done when it returns: it survives the end of the process, and each Load that begins afterwards, in any process
//     that shares the Store, sees it.
//   - Marks of one key and one source are one mark: its labels are the union of all that were added, its time the latest.
//     No Add takes a label away or makes a time earlier, in whatever order several processes add.
//   - Load of a key that nobody added to is empty and no error. What it returns is the caller's, in any order.
//   - What was added and can't be read any more is an error, never an empty answer: a caller takes an error for
//     everything. A Store that has to forget for want of room forgets the marks whose time is the earliest.
//
// A key is at most MaxKey bytes, a source at most MaxSource, both UTF-8; times are kept to the millisecond or better. It is
// safe for concurrent use, and returns when ctx ends.
type Store interface {
	Load(ctx context.Context, key string) ([]Mark, error)
	Add(ctx context.Context, key string, marks []Mark) error
}

// A Stamper is a Store that can tell cheaply that nothing was added: while Stamp returns the same number, each Load would
// return what it did before. It is called for each call to a sink. It must not allocate, and on an error returns a number
// that it never returned before.
type Stamper interface{ Stamp() uint64 }

// Limits of what a Store is asked to keep, in bytes.
const (
	MaxKey    = 300
	MaxSource = 256
)

// Sources that are no server: no configuration can use these names.
const (
	Local   = "local"         // usher's own tools
	Unknown = "usher-unknown" // what the Store could not say
)

package journal

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
)

// How durable an event is once Wait has returned.
const (
	DurabilityProcess = "process" // given to the operating system: survives the death of this process
	DurabilityFull    = "full"    // synced: survives the death of the machine, if the disk keeps what it says
)

const (
	defaultRotate  = 64 << 20
	defaultPending = 16 << 20
	softPending    = 1 << 20 // from here on Append writes by itself, so that the queue stays small
	flushAfter     = 20 * time.Millisecond
	retryAfter     = time.Second // between attempts while nobody waits and writing fails
)

// Options say where and how to keep events. Only Dir must be set.
type Options struct {
	// Dir is the data folder. It is made, with mode 0700, if it doesn't exist. Many processes may share it.
	Dir string
	// Durability is DurabilityProcess, the default, or DurabilityFull.
	Durability string
	// Clock stamps events and names files. Default time.Now.
	Clock event.Clock
	// Redact gets the encoded data of each event, a JSON object, and returns what is stored, a JSON object again: its
	// argument itself if there is nothing to hide. It must neither change nor keep its argument. Checkpoints, which
	// hold only names and hashes, don't pass it.
	Redact func([]byte) []byte
	// RotateBytes is the size from which on a file is finished and a new one started. Default 64 MiB.
	RotateBytes int64
	// NewID makes an id that starts with prefix: "s_" for the host session, "f_" for what this process's files are
	// named after. Default random.
	NewID func(prefix string) string
	// MaxPending bounds the bytes that wait to be written; then Append fails. Default 16 MiB.
	MaxPending int

	flushAfter time.Duration // how long what nobody flushes stays in the queue; tests set it
}

func (o Options) withDefaults() (Options, error) {
	switch o.Durability {
	case "":
		o.Durability = DurabilityProcess
	case DurabilityProcess, DurabilityFull:
	default:
		return o, &fault.Error{Kind: fault.LogUnavailable, Detail: fmt.Sprintf("unknown durability %q", o.Durability),
			Hint: `Set log.durability to "process" or "full"`}
	}
	if o.Dir == "" {
		return o, &fault.Error{Kind: fault.LogUnavailable, Detail: "no data folder", Hint: hintDir}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.NewID == nil {
		o.NewID = randomID
	}
	if o.RotateBytes <= 0 {
		o.RotateBytes = defaultRotate
	}
	if o.MaxPending <= 0 {
		o.MaxPending = defaultPending
	}
	if o.flushAfter <= 0 {
		o.flushAfter = flushAfter
	}
	return o, nil
}

func randomID(prefix string) string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return prefix + hex.EncodeToString(b)
}

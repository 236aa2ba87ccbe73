package event

import (
	"context"
	"encoding/json"
	"time"
)

// Data is the typed content of an event. Only this package has types that are Data: nothing outside, no server above
// all, can bring an event of its own shape into the log.
type Data interface {
	// Type is the event's type, such as "tool.started".
	Type() string
	data()
}

// Event is one event as it lies in the log.
type Event struct {
	Seq     int64           `json:"seq"`     // from 1, without a gap within its session
	Session string          `json:"session"` // such as "s_3f…"
	Time    time.Time       `json:"time"`    // UTC, microseconds
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data"`
	Prev    string          `json:"prev,omitempty"` // hash of the session's event before; empty for its first
	Hash    string          `json:"hash"`
}

// Log takes events. All methods may be called by many goroutines at once.
type Log interface {
	// Append orders data after all earlier events of the session and queues it. The events of one call stay together.
	// Each of data is one of this package's types or a pointer to one. It fails when the log can't take more; then none of
	// data was taken. It keeps nothing of data's memory.
	Append(ctx context.Context, session string, data ...Data) (Mark, error)
	// Wait returns when everything up to m is as durable as the log is configured to make it, or with the reason why
	// it is not. The zero Mark is durable.
	Wait(ctx context.Context, m Mark) error
}

// Mark is a place in a log. Later marks are larger.
type Mark uint64

// Clock tells the time that events are stamped with.
type Clock func() time.Time

// TimeFormat is how a time stands in the log: RFC 3339 with microseconds, UTC.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

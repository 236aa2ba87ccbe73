package index

import (
	"strings"
	"time"

	"github.com/usher-mcp/usher/event"
)

// Query chooses events; what is empty chooses all.
type Query struct {
	// Session is the beginning of a session's id, with or without its "s_", or "host": all sessions of kind host.
	Session string
	// Type is a type, or a beginning and "*".
	Type string
	// Server is a server's name: what names it and all that is about its tools.
	Server string
	// Tool is a tool's name, canonical, as models write it, or without its server; or a beginning and "*". It finds all
	// events of its calls.
	Tool string
	// Call is the toolCallId of a call.
	Call string
	// Since and Until bound the event's own time; Until is the first moment that is not meant.
	Since, Until time.Time
	// Text is what stands somewhere in the type or the data, as stored or without JSON's escapes, whatever the case.
	Text string
	// Limit keeps only the last ones. 0 or less: all.
	Limit int
}

// All reports whether q chooses all events, but for its limit.
func (q Query) All() bool { q.Limit = 0; return q == Query{} }

func (q Query) session(id string, host bool) bool {
	if q.Session == "host" {
		return host
	}
	return strings.HasPrefix(id, q.Session) || strings.HasPrefix(id, "s_"+q.Session)
}

func (q Query) kind(kind string) bool {
	prefix, many := strings.CutSuffix(q.Type, "*")
	return q.Type == "" || q.Type == kind || many && strings.HasPrefix(kind, prefix)
}

func (q Query) time(t time.Time) bool {
	return (q.Since.IsZero() || !t.Before(q.Since)) && (q.Until.IsZero() || t.Before(q.Until))
}

// Found is an event that was found.
type Found struct {
	Line  []byte // as it lies in the log, without its newline; valid until the next one
	Event event.Event
	Err   error // of a line that is no event; then there is neither Line nor Event
}

package client

import (
	"encoding/json"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// Options say whom we connect to, and as whom. The zero value works.
type Options struct {
	Name string             // the server's name in errors
	Info mcp.Implementation // who we say we are; an empty Name becomes "usher"
	Era  mcp.Era            // what is remembered of this server; EraUnknown probes

	// ProbeTimeout is how long server/discover may stay unanswered before the server counts as legacy; 0 means 4 s.
	ProbeTimeout time.Duration

	// OnNotify gets the notifications that belong to no call, such as list_changed, in order. It runs on the goroutine
	// that reads the connection: it must not block and must not call Close. Nil drops them.
	OnNotify func(*mcp.Message)

	// Redact takes secrets out of the server's own words before they are cut for an error; nil: none are known.
	Redact func([]byte) []byte

	Limits Limits
}

// Limits bound what one listing may bring. A zero field means its default.
type Limits struct {
	Pages int           // 100
	Items int           // 10,000
	Bytes int           // of all results together; 64 MiB
	Time  time.Duration // 30 s in all
}

// Info is what the handshake told. All but Era and Revision is the server's own word.
type Info struct {
	Era          mcp.Era
	Revision     string
	Capabilities json.RawMessage // an object; nil if the server sent none
	ServerInfo   json.RawMessage // an Implementation; nil if the server sent none
	Instructions string          // at most 2048 characters; a cut is marked
	Why          string          // how the era was found, for an operator
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "?"
	}
	if o.Info.Name == "" {
		o.Info = mcp.Implementation{Name: "usher", Version: "0"}
	}
	o.ProbeTimeout = or(o.ProbeTimeout, 4*time.Second)
	if o.OnNotify == nil {
		o.OnNotify = func(*mcp.Message) {}
	}
	if o.Redact == nil {
		o.Redact = func(b []byte) []byte { return b }
	}
	o.Limits.Pages = or(o.Limits.Pages, 100)
	o.Limits.Items = or(o.Limits.Items, 10_000)
	o.Limits.Bytes = or(o.Limits.Bytes, 64<<20)
	o.Limits.Time = or(o.Limits.Time, 30*time.Second)
	return o
}

func or[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

const maxText = 2048 // characters of a server's instructions (E4)

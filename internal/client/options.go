package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// Options say whom we connect to, and as whom. The zero value works.
type Options struct {
	Name string             // the server's name in errors
	Info mcp.Implementation // who we say we are; an empty Name becomes "usher"
	Era  mcp.Era            // what is remembered of this server; EraUnknown probes

	// ProbeTimeout is how long server/discover may stay unanswered before the server counts as legacy; 0 means 4 s.
	ProbeTimeout time.Duration

	// Fallback is the way of 2024-11-05 to the same server (transport/sse), for a Transport over HTTP whose server
	// refuses initialize with status 400, 404 or 405. Nil: there is none.
	Fallback transport.Transport

	// ToolsOf is another session with the same server, whose lists of tools count for this one: what they say must be
	// repeated in headers. Nil: this session has to list the tools itself.
	ToolsOf *Session

	// Capabilities, PassInput and PassTask are our terms with the server; see Terms. A Peer may have its own.
	Capabilities json.RawMessage
	PassInput    bool
	PassTask     bool

	// OnRequest answers what a legacy server asks outside of a call, if Capabilities declare it: its sampling,
	// elicitation and roots. Over HTTP a question on the stream of a call goes to that call's Peer, if it has one; over
	// other transports no question names its call, so all come here. Each runs in a goroutine of its own, at most 32 at
	// once; its ctx ends when the server takes the question back or the session ends. Nil refuses them.
	OnRequest func(context.Context, *mcp.Message) (*mcp.Message, error)

	// OnNotify gets the notifications that belong to no call, such as list_changed; those of one stream in order. It
	// runs on a goroutine that reads from the server, and over HTTP on several at once: it must not block and must not
	// call Close. Nil drops them.
	OnNotify func(*mcp.Message)

	// Listen says what changes of the server OnNotify is to hear of; see Session.Listen. Zero: whatever a legacy server
	// tells unasked.
	Listen Listen

	// OnStale is called, as OnNotify is, when changes may have gone unheard: after a subscription was opened again. Nil:
	// OnNotify is told of a change of each kind that was subscribed to.
	OnStale func()

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
	Fallback     bool            // the connection is one of Options.Fallback; Why says the reason
	Steps        []Step          // of the handshake, in order
}

// Step is one thing that was done to reach a server.
type Step struct {
	What   string        // such as "connect" or "server/discover"
	Took   time.Duration // until Result was known
	Result string        // "ok", or what went wrong, in one line
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

func (o Options) terms() Terms {
	return Terms{Capabilities: o.Capabilities, PassInput: o.PassInput, PassTask: o.PassTask}
}

func or[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

const maxText = 2048 // characters of a server's instructions (E4)

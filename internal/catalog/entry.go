package catalog

import (
	"encoding/json"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// Kind is one of the lists of a server.
type Kind uint8

// The kinds of lists.
const (
	Tools Kind = iota
	Resources
	Templates
	Prompts
	kinds // how many there are
)

// String returns the name of the list, such as "resource templates".
func (k Kind) String() string {
	return [...]string{"tools", "resources", "resource templates", "prompts", "?"}[min(k, kinds)]
}

// Server says whose lists are meant.
type Server struct {
	Name string
	Key  string        // the identity of its entry in the configuration: another entry, another key; opaque, and written to the Store
	TTL  time.Duration // how long a list is good where the server doesn't say; 0: until the server says that it changed
}

// Entry is what is known of one server. It is never changed: each change makes a new one. What it points to must not be
// written to.
type Entry struct {
	Server, Key string

	// What the last handshake told, as client.Info has it. Era is EraUnknown before the first.
	Era          mcp.Era
	Revision     string
	Capabilities json.RawMessage
	ServerInfo   json.RawMessage
	Instructions string

	Tools     List[mcp.Tool]
	Resources List[mcp.Resource]
	Templates List[mcp.ResourceTemplate]
	Prompts   List[mcp.Prompt]
}

// List is one list as it was last known. Each item's Raw has the bytes that the server sent.
type List[T any] struct {
	Items []T
	Listing
}

// Listing tells where a list comes from.
type Listing struct {
	Listed   time.Time     // when the listing began that brought it; zero: there was none
	TTL      time.Duration // the server's own; 0: it gave none
	Private  bool          // it may be kept only for whoever has the same authorization
	Complete bool          // all pages came; else it is a part, and better than nothing
	Cached   bool          // it is from the Store, and the server hasn't confirmed it since

	// Why the last listing failed, and when it began. The list is then the one from before, or a part. Nil: it didn't fail.
	Err    error
	Failed time.Time

	begun, tried uint64 // the moments of the listing that brought the list, and of the last one
	failures     int    // in a row
}

// Listing returns what is known of one list besides its items.
func (e *Entry) Listing(k Kind) Listing { return *e.listing(k) }

func (e *Entry) listing(k Kind) *Listing {
	switch k {
	case Tools:
		return &e.Tools.Listing
	case Resources:
		return &e.Resources.Listing
	case Templates:
		return &e.Templates.Listing
	case Prompts:
		return &e.Prompts.Listing
	}
	return new(Listing)
}

// Cached reports whether any of the lists is from the Store and not confirmed since.
func (e *Entry) Cached() bool {
	for k := range kinds {
		if e.listing(k).Cached {
			return true
		}
	}
	return false
}

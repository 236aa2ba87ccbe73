package standard

import (
	"context"
	"os"
	"sync"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/internal/secret"
	"github.com/usher-mcp/usher/transport"
)

// builder makes what the servers of a host are reached by.
type builder struct {
	o       Options
	redact  func([]byte) []byte
	record  func(...event.Data)
	closers []func() error // to be called when no server is in use any more
	strays  *strays
}

// strays keeps what servers wrote to standard output that is no message; a server that has ended tells nobody.
type strays struct {
	mu  sync.Mutex
	all map[string]stray
}

type stray struct {
	count  int
	sample string
}

func (s *strays) add(server string, count int, sample string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.all[server]
	if known {
		sample = old.sample
	}
	s.all[server] = stray{old.count + count, sample}
}

// servers makes a transport for each entry that is to be started.
func (b *builder) servers(c *config.Config) []usher.Server {
	var all []usher.Server
	for _, s := range c.Servers {
		if s.Disabled || b.o.Only != nil && !b.o.Only(s.Name) {
			continue
		}
		first, old := b.transports(s)
		all = append(all, usher.Server{
			Name: s.Name, Kind: s.Transport, Transport: first, Fallback: old, StartTimeout: s.StartTimeout, CallTimeout: s.CallTimeout,
			TrustHints: s.TrustHints == nil && s.Source == config.SourceUser || s.TrustHints != nil && *s.TrustHints,
		})
	}
	return all
}

func reveal(values map[string]secret.Value) map[string]string {
	plain := make(map[string]string, len(values))
	for name, value := range values {
		plain[name] = value.Reveal()
	}
	return plain
}

// broken is a server whose entry names no usable address: it stays listed and says why it doesn't work.
type broken struct{ err error }

func (b broken) Connect(context.Context) (transport.Conn, error) { return nil, b.err }

// Watchdog is the main function of the process that Options.Watchdog names; it returns the exit code.
func Watchdog() int { return sandbox.Watchdog(os.Args[2:]) }

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
	strays  *strays
	made    map[string]made // by config.Server.Key
	closers []func() error  // of what is being made
}

// made is what one entry was made into. An entry that stays the same keeps it.
type made struct {
	usher.Server
	closers []func() error
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

// servers makes a transport for each entry that is to be started. It isn't for concurrent use.
func (b *builder) servers(c *config.Config) []usher.Server {
	var all []usher.Server
	next := map[string]made{}
	for _, s := range c.Servers {
		if s.Disabled || b.o.Only != nil && !b.o.Only(s.Name) {
			continue
		}
		m, old := b.made[s.Key]
		if !old {
			m = b.make(s)
		}
		next[s.Key] = m
		all = append(all, m.Server)
	}
	for key, m := range b.made {
		if _, stays := next[key]; !stays {
			closeAll(m.closers)
		}
	}
	b.made = next
	return all
}

func (b *builder) make(s config.Server) made {
	b.closers = nil
	first, old := b.transports(s)
	life := s.Lifecycle
	if b.o.Once {
		life.Restart.Enabled, life.Reconnect.Enabled = false, false
	}
	return made{usher.Server{
		Name: s.Name, Key: s.Key, Kind: s.Transport, Transport: first, Fallback: old, CallTimeout: s.CallTimeout, Lifecycle: &life,
		TrustHints: s.TrustHints == nil && s.Source == config.SourceUser || s.TrustHints != nil && *s.TrustHints,
	}, b.closers}
}

// close lets go of what all servers share with nobody.
func (b *builder) close() error {
	for _, m := range b.made {
		closeAll(m.closers)
	}
	return nil
}

func closeAll(closers []func() error) {
	for _, f := range closers {
		_ = f()
	}
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

func (b broken) Connect(context.Context) (transport.Conn, error) { return nil, unusable{b.err} }

// unusable is an error that only another entry can help.
type unusable struct{ error }

func (u unusable) Unwrap() error { return u.error }

// Permanent says so to whoever would try again.
func (u unusable) Permanent() bool { return true }

// Watchdog is the main function of the process that Options.Watchdog names; it returns the exit code.
func Watchdog() int { return sandbox.Watchdog(os.Args[2:]) }

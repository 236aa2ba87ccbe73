package standard

import (
	"context"
	"os"
	"sync"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/resolved"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/internal/secret"
	"github.com/usher-mcp/usher/transport"
)

// builder makes what the servers of a host are reached by.
type builder struct {
	o       Options
	check   func(*config.Server) error // asked at each dial
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
	for _, a := range c.Admitted() {
		s := a.Server()
		if b.o.Only != nil && !b.o.Only(s.Name) {
			continue
		}
		m, old := b.made[s.Key]
		if !old {
			m = b.make(a)
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

// make takes only what went through the gate.
func (b *builder) make(a config.Admitted) made {
	s := a.Server()
	b.closers = nil
	first, old := b.transports(s)
	life := s.Lifecycle
	if b.o.Once {
		life.Restart.Enabled, life.Reconnect.Enabled = false, false
	}
	return made{usher.Server{
		Name: s.Name, Key: s.Key, Entry: s.Hash, Source: s.Source, Package: packageOf(s), Kind: s.Transport, Transport: b.gated(s, first), Fallback: b.gated(s, old),
		CallTimeout: s.CallTimeout, Lifecycle: &life, Credentials: s.HasCredentials(), TrustHints: trustsHints(s),
	}, b.closers}
}

// packageOf tells what a process runs where a package runner starts it; a program of the user's own is what it is.
func packageOf(s config.Server) func(pid int) string {
	if s.Transport != config.TransportStdio || !s.RunsPackage() {
		return nil
	}
	return resolved.Of
}

// trustsHints is the user's word, and without one true for what they, or their administrator, wrote themselves (F2).
func trustsHints(s config.Server) bool {
	switch {
	case s.Source == config.SourceProject || s.Source == config.SourceImported:
		return false
	case s.TrustHints != nil:
		return *s.TrustHints
	}
	return true
}

// gated holds an entry against policy and trust again at each dial: a process that was admitted once may have to be
// started again after the administrator, or the user, took that back.
func (b *builder) gated(s config.Server, t transport.Transport) transport.Transport {
	if t == nil {
		return nil
	}
	return gated{t, func() error { return b.check(&s) }}
}

type gated struct {
	transport.Transport
	check func() error
}

var _ transport.Transport = gated{}

func (g gated) Connect(ctx context.Context) (transport.Conn, error) {
	if err := g.check(); err != nil {
		return nil, unusable{err}
	}
	return g.Transport.Connect(ctx)
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

package standard

import (
	"context"
	nethttp "net/http"
	"os"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/internal/secret"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/http"
	"github.com/usher-mcp/usher/transport/stdio"
)

// servers makes a transport for each entry that is to be started.
func servers(o Options, c *config.Config, redact func([]byte) []byte, record func(...event.Data)) []usher.Server {
	var all []usher.Server
	for _, s := range c.Servers {
		if s.Disabled || o.Only != nil && !o.Only(s.Name) {
			continue
		}
		t := transportOf(o, s, redact, record)
		all = append(all, usher.Server{
			Name: s.Name, Kind: s.Transport, Transport: t, StartTimeout: s.StartTimeout, CallTimeout: s.CallTimeout,
			TrustHints: s.TrustHints == nil && s.Source == config.SourceUser || s.TrustHints != nil && *s.TrustHints,
		})
	}
	return all
}

func transportOf(o Options, s config.Server, redact func([]byte) []byte, record func(...event.Data)) transport.Transport {
	if s.Transport == config.TransportHTTP {
		header := nethttp.Header{}
		for name, value := range s.Headers {
			header.Set(name, value.Reveal())
		}
		t, err := http.New(http.Options{URL: s.URL, Header: header})
		if err != nil {
			return broken{err}
		}
		return t
	}
	return stdio.New(stdio.Options{
		Command: s.Command, Args: s.Args, Env: reveal(s.Env), Dir: s.Dir, Launcher: sandbox.Launcher{Watchdog: o.Watchdog},
		Redact: redact,
		OnStray: func(count int, sample string) {
			record(event.ServerStray{Server: s.Name, Stream: "stdout", Count: count, Sample: sample})
		},
	})
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

package standard

import (
	nethttp "net/http"
	"net/url"
	"strings"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc"
	"github.com/usher-mcp/usher/transport/http"
	"github.com/usher-mcp/usher/transport/sse"
	"github.com/usher-mcp/usher/transport/stdio"
	"github.com/usher-mcp/usher/transport/ws"
)

// transports returns how a server is reached, and how else if it turns out to be too old for that (nil: not at all). An
// entry that can't be used makes a transport that says why.
func (b *builder) transports(s config.Server) (first, old transport.Transport) {
	if s.Transport == config.TransportStdio {
		return b.stdio(s), nil
	}
	w, err := b.way(s)
	if err != nil {
		return broken{err}, nil
	}
	header := nethttp.Header{}
	for name, value := range s.Headers {
		header.Set(name, value.Reveal())
	}
	switch s.Transport {
	case config.TransportWS:
		first, err = ws.New(ws.Options{URL: w.url, Header: header, Client: w.client})
	case config.TransportGRPC:
		first, err = w.grpc(s.URL, header)
	case config.TransportSSE:
		first, err = sse.New(sse.Options{URL: w.url, Header: header, Client: w.client})
	default:
		first, err = http.New(http.Options{URL: s.URL, Header: header, Client: w.client})
		if err == nil && s.Inferred { // B10
			old, err = sse.New(sse.Options{URL: w.url, Header: header.Clone(), Client: w.client})
		}
	}
	if err != nil {
		return broken{err}, nil
	}
	return first, old
}

func (b *builder) stdio(s config.Server) transport.Transport {
	return stdio.New(stdio.Options{
		Command: s.Command, Args: s.Args, Env: reveal(s.Env), Dir: s.Dir, Launcher: sandbox.Launcher{Watchdog: b.o.Watchdog},
		Redact: b.redact,
		OnStray: func(count int, sample string) {
			b.strays.add(s.Name, count, sample)
			b.record(event.ServerStray{Server: s.Name, Stream: "stdout", Count: count, Sample: sample})
		},
	})
}

// way is what the transports of one remote server share.
type way struct {
	dialer *dial.Dialer
	// url is the entry's, of a socket one with a host that stands for it.
	url string
	// client is nil where each connection may have a client of its own, with nothing special about it.
	client *nethttp.Client
}

func (b *builder) way(s config.Server) (*way, error) {
	w := &way{url: s.URL}
	o := dial.Options{TLS: dial.TLS(s.TLS), Report: b.reporter(s)}
	if u, err := url.Parse(s.URL); err == nil {
		o.Host = u.Hostname()
	}
	if socket, ok := http.Socket(s.URL); ok {
		o.Socket, w.url = socket, behindSocket(s.URL)
	}
	var err error
	if w.dialer, err = dial.New(o); err != nil {
		return nil, err
	}
	if (o.Socket != "" || o.TLS != (dial.TLS{})) && s.Transport != config.TransportGRPC {
		w.client = w.dialer.Client()
		b.closers = append(b.closers, func() error { w.client.CloseIdleConnections(); return nil })
	}
	return w, nil
}

// behindSocket returns the http URL of unix:///run/x.sock:/path. Nothing looks its host up.
func behindSocket(raw string) string {
	_, path, _ := strings.Cut(strings.TrimPrefix(raw, "unix://"), ":/")
	return "http://localhost/" + path
}

func (w *way) grpc(address string, header nethttp.Header) (transport.Transport, error) {
	o := grpc.Options{URL: address, Header: header, Dial: w.dialer.Tunnel}
	if strings.HasPrefix(strings.ToLower(address), "grpcs:") {
		o.TLS = w.dialer.TLSConfig()
	}
	return grpc.New(o)
}

// reporter tells of TLS files that changed for the worse.
func (b *builder) reporter(s config.Server) func(error) {
	return func(err error) {
		b.record(event.ConfigRejected{File: s.File, Line: s.Line, Field: "mcpServers." + s.Name + ".tls", Message: err.Error()})
		b.o.Notice("the server " + s.Name + ": " + err.Error())
	}
}

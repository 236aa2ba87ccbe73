package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/gateway"
	"github.com/usher-mcp/usher/standard"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	lastAnswers   = 3 * time.Second // for answers that are being written at the end
	firstLook     = 5 * time.Second // after which the start screen doesn't wait for servers any more
)

func (a *app) serve() *cobra.Command {
	var at addresses
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve all tools to agents over HTTP, WebSocket, SSE and gRPC", Args: noArgs,
		Long: `Serve the tools of all servers and the built-in ones to agents. At the address of --listen
there are Streamable HTTP (/mcp), WebSocket (/ws) and the HTTP+SSE of 2024-11-05 (/sse);
gRPC has an address of its own. An address is host:port, or unix:///path for a socket
that only you can use.

Each call takes the same way as usher call: it is checked, decided and recorded. A call
that needs a person's word waits 25 s for it, and is told here with how to answer; see:
usher approvals --help

There is no authentication in this version, so an address must be this machine's own.`,
		Example: "  usher serve\n  usher serve --listen 127.0.0.1:0 --listen-grpc 127.0.0.1:7392\n  usher serve --listen unix:///run/user/1000/usher.sock",
		RunE:    a.run(func(ctx context.Context, _ []string) error { return a.serveAll(ctx, at) }),
	}
	f := cmd.Flags()
	f.StringVar(&at.http, "listen", defaultListen, "`address` for HTTP; port 0 takes a free one")
	f.StringVar(&at.ws, "listen-ws", "", "`address` for WebSocket (default that of --listen)")
	f.StringVar(&at.sse, "listen-sse", "", "`address` for SSE (default that of --listen)")
	f.StringVar(&at.grpc, "listen-grpc", "", "`address` for gRPC (default: it isn't served)")
	a.jsonFlag(cmd, `print {"url":…,"ws":…} to standard output when it listens`)
	return cmd
}

func (a *app) serveAll(ctx context.Context, at addresses) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	d, err := openDoors(at)
	if err != nil {
		return err
	}
	defer d.close()
	w := &watcher{to: a.err, command: a.command()}
	defer w.close()
	return a.withHost(ctx, opening{stays: true, asker: w, notice: w.notice, observe: w.observe}, func(ctx context.Context, h *standard.Host) error {
		return a.serveOn(ctx, d, h, c, w)
	})
}

func (a *app) serveOn(ctx context.Context, d *doors, h *standard.Host, c *config.Config, w *watcher) error {
	if err := noteClients(ctx, d, h, w.say); err != nil {
		return err
	}
	g := gateway.New(h.Host, gateway.Options{Principal: whoami()})
	s := serveDoors(d, g)
	defer s.stop(g)
	defer a.openAdmin(h, w)()
	if a.json {
		if err := writeJSON(a.out, d.urls()); err != nil {
			return err
		}
	}
	welcomed := make(chan struct{})
	go func() {
		defer close(welcomed)
		shown := a.welcome(ctx, h, c, d)
		w.begin()
		w.servers(ctx, h, shown)
	}()
	var err error
	select {
	case <-ctx.Done():
	case err = <-s.failed:
	}
	<-welcomed
	fmt.Fprintln(a.err, a.err.paint(dim, "stopping …"))
	return err
}

// serving are the servers behind the doors.
type serving struct {
	servers []*http.Server
	failed  chan error // has room for all
	running sync.WaitGroup
}

func serveDoors(d *doors, g *gateway.Gateway) *serving {
	s := &serving{failed: make(chan error, len(d.listeners))}
	handlers := map[string]http.Handler{pathHTTP: g.HTTP(), pathWS: g.WebSocket(), pathSSE: g.SSE()}
	for _, l := range d.listeners {
		if l.grpc {
			s.running.Go(func() { s.failed <- g.ServeGRPC(l) })
			continue
		}
		mux := http.NewServeMux()
		for _, path := range l.paths {
			mux.Handle(path, handlers[path])
		}
		mux.HandleFunc("/", elsewhere(l.paths))
		srv := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
		g.Attach(srv)
		s.servers = append(s.servers, srv)
		s.running.Go(func() { s.failed <- srv.Serve(l) })
	}
	return s
}

// stop ends calls and connections first, since Shutdown would wait for them.
func (s *serving) stop(g *gateway.Gateway) {
	g.Close()
	last, cancel := context.WithTimeout(context.Background(), lastAnswers)
	defer cancel()
	for _, srv := range s.servers {
		if err := srv.Shutdown(last); errors.Is(err, context.DeadlineExceeded) {
			_ = srv.Close()
		}
	}
	s.running.Wait()
}

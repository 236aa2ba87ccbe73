package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/gateway"
	"github.com/usher-mcp/usher/standard"
)

const (
	defaultListen = "127.0.0.1:7391"
	endpoint      = "/mcp"

	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	lastAnswers   = 3 * time.Second // for answers that are being written at the end
	firstLook     = 5 * time.Second // after which the start screen doesn't wait for servers any more
)

func (a *app) serve() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve all tools to agents over HTTP", Args: noArgs,
		Long: `Serve the tools of all servers and the built-in ones at one address, over Streamable HTTP.
Each call takes the same way as usher call: it is checked, decided and recorded. A call
that needs a person's word is refused with the command that would allow it, and told here.

There is no authentication in this version, so the address must be this machine's own.`,
		RunE: a.run(func(ctx context.Context, _ []string) error { return a.serveHTTP(ctx, listen) }),
	}
	cmd.Flags().StringVar(&listen, "listen", defaultListen, "`address` to listen on; port 0 takes a free one")
	a.jsonFlag(cmd, `print {"url":…} to standard output when it listens`)
	return cmd
}

func (a *app) serveHTTP(ctx context.Context, address string) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	l, err := listenLocal(address)
	if err != nil {
		return err
	}
	defer l.Close()
	w := &watcher{to: a.err, command: a.command()}
	defer w.close()
	return a.withHost(ctx, opening{asker: w, notice: w.notice}, func(ctx context.Context, h *standard.Host) error {
		return a.serveOn(ctx, l, h, c)
	})
}

func (a *app) serveOn(ctx context.Context, l net.Listener, h *standard.Host, c *config.Config) error {
	g := gateway.New(h.Host, gateway.Options{})
	mux := http.NewServeMux()
	mux.Handle(endpoint, g.HTTP())
	mux.HandleFunc("/", elsewhere)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	g.Attach(srv)
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()

	url := "http://" + l.Addr().String() + endpoint
	if a.json {
		if err := writeJSON(a.out, map[string]string{"url": url}); err != nil {
			return err
		}
	}
	welcomed := make(chan struct{})
	go func() {
		defer close(welcomed)
		a.welcome(ctx, h, c, url)
	}()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	<-welcomed
	fmt.Fprintln(a.err, a.err.paint(dim, "stopping …"))
	g.Close()
	last, cancel := context.WithTimeout(context.Background(), lastAnswers)
	defer cancel()
	if srv.Shutdown(last) != nil {
		_ = srv.Close()
	}
	return err
}

// elsewhere answers whoever takes the wrong path.
func elsewhere(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "usher is at "+endpoint, http.StatusNotFound)
}

// listenLocal listens on an address that only this machine reaches.
func listenLocal(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usage(fmt.Sprintf("--listen %s is no address with a port", address), "Such as: --listen "+defaultListen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, usage(fmt.Sprintf("--listen %s would let other machines in, and there is no authentication in this version", address),
			"Use 127.0.0.1 or ::1, and a tunnel such as ssh -L for another machine")
	}
	if host == "localhost" {
		host = "127.0.0.1" // whatever the resolver thinks
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &failure{fault.ExitUnavailable, "port " + port + " is taken; maybe by another usher", "Take a free one: " + self + " serve --listen 127.0.0.1:0"}
	case errors.Is(err, syscall.EACCES):
		return nil, &failure{fault.ExitUnavailable, "port " + port + " is not yours to take", "Take a free one: " + self + " serve --listen 127.0.0.1:0"}
	}
	return nil, usage("can't listen on "+address+": "+strings.TrimPrefix(err.Error(), "listen tcp: "), "Such as: --listen "+defaultListen)
}

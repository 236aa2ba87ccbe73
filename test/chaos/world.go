package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc"
	"github.com/usher-mcp/usher/transport/http"
	"github.com/usher-mcp/usher/transport/sse"
	"github.com/usher-mcp/usher/transport/stdio"
	"github.com/usher-mcp/usher/transport/ws"
)

// Options say what a run needs from outside.
type Options struct {
	Server   string   // the program of test/chaos/server
	Watchdog []string // see sandbox.Launcher
	Dir      string   // an empty folder of the run's own, whose name no other process bears
}

// world is what one run consists of.
type world struct {
	o       Options
	plan    Plan
	journal *journal.Journal
	host    *usher.Host
	far     map[string]*remote
	servers []usher.Server
	// problems are those of the schedule's goroutine.
	problems []string
	hits     chan hit // each fault that found calls in flight
}

func (o Options) log() string                { return filepath.Join(o.Dir, "log") }
func (o Options) reached(name string) string { return filepath.Join(o.Dir, name+".calls") }
func (o Options) control(name string) string { return filepath.Join(o.Dir, "c", name) }

func open(ctx context.Context, o Options, plan Plan) (w *world, err error) {
	w = &world{o: o, plan: plan, far: map[string]*remote{}, hits: make(chan hit, len(plan.Faults))}
	defer func() {
		if err != nil {
			_ = w.close()
		}
	}()
	for _, s := range plan.Servers {
		t, err := w.transport(s)
		if err != nil {
			return w, fmt.Errorf("%s: %w", s.Name, err)
		}
		kind := s.Kind
		if kind == "modern" {
			kind = "http"
		}
		w.servers = append(w.servers, usher.Server{Name: s.Name, Key: s.Name, Kind: kind, Transport: t, TrustHints: true, Lifecycle: &s.Lifecycle})
	}
	if w.journal, err = journal.Open(ctx, journal.Options{Dir: o.log()}); err != nil {
		return w, err
	}
	rules := &permission.Policy{Allow: []permission.Rule{{Pattern: "*", Scope: "user"}}}
	flows := usher.NewFlows(usher.FlowOff, nil, 0) // callers mix all servers, and nobody is there to ask
	w.host, err = usher.Open(ctx, usher.Options{
		Servers: w.servers, Log: w.journal, HostSession: w.journal.Host(), Policy: func() *permission.Policy { return rules },
		Flows: func() *usher.Flows { return flows },
	})
	return w, err
}

// transport starts the server where that isn't the host's to do.
func (w *world) transport(s ServerPlan) (transport.Transport, error) {
	if err := os.MkdirAll(w.o.control(s.Name), 0o700); err != nil {
		return nil, err
	}
	args := []string{"-name", s.Name, "-journal", w.o.reached(s.Name), "-control", w.o.control(s.Name)}
	if s.Kind == "stdio" {
		launcher := sandbox.Launcher{}
		if w.plan.Watchdog {
			launcher.Watchdog = w.o.Watchdog
		}
		return stdio.New(stdio.Options{Command: w.o.Server, Args: args, Launcher: launcher}), nil
	}
	args = append(args, "-listen", s.Kind)
	if s.Stream {
		args = append(args, "-stream")
	}
	r, err := startRemote(w.o.Server, args)
	if err != nil {
		return nil, err
	}
	w.far[s.Name] = r
	switch addr := r.proxy.addr(); s.Kind {
	case "ws":
		return ws.New(ws.Options{URL: "ws://" + addr})
	case "sse":
		return sse.New(sse.Options{URL: "http://" + addr})
	case "grpc":
		return grpc.New(grpc.Options{URL: "grpc://" + addr})
	default:
		return http.New(http.Options{URL: "http://" + addr})
	}
}

// closeTime is how long the host may take to end everything (B9, with room for a slow machine).
const closeTime = 8 * time.Second

// close ends the host first: what it still holds then is its fault.
func (w *world) close() (problems []string) {
	if w.host != nil {
		begun := time.Now()
		if err := w.host.Close(); err != nil {
			problems = append(problems, "Host.Close: "+err.Error())
		}
		if took := time.Since(begun); took > closeTime {
			problems = append(problems, fmt.Sprintf("Host.Close took %v", took))
		}
	}
	if w.journal != nil {
		if err := w.journal.Close(); err != nil {
			problems = append(problems, "Journal.Close: "+err.Error())
		}
	}
	for _, s := range w.plan.Servers {
		r := w.far[s.Name]
		if r == nil {
			continue
		}
		if n := settled(r.proxy.connections, func(n int) bool { return n == 0 }); n > 0 {
			problems = append(problems, fmt.Sprintf("%d connections to %s (%s) are left", n, s.Name, s.Kind))
		}
		r.close()
	}
	return problems
}

// settled polls until the value is as it should be, for two seconds at most, and returns the last one.
func settled[T any](get func() T, good func(T) bool) (v T) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); <-tick.C {
		if v = get(); good(v) {
			return v
		}
	}
	return v
}

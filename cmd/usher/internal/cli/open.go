package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

// path is where the configuration is, or would be.
func (a *app) path() string {
	if a.configPath != "" {
		return a.configPath
	}
	return config.DefaultPath(os.LookupEnv)
}

func (a *app) data() string {
	if a.dataDir != "" {
		return a.dataDir
	}
	return standard.DataDir()
}

// load reads the configuration. Without a file it is empty, unless a person named that file.
func (a *app) load() (*config.Config, error) {
	if err := a.there(); err != nil {
		return nil, err
	}
	return a.loadAny()
}

// loadAny is load for whoever makes the file where it isn't there.
func (a *app) loadAny() (*config.Config, error) {
	if _, err := permission.ParseMode(a.mode); a.mode != "" && err != nil {
		return nil, usage("--mode: "+err.Error(), "See: usher help config")
	}
	if info, err := os.Stat(a.dir); a.dir != "" && (err != nil || !info.IsDir()) {
		return nil, usage("there is no folder "+a.dir, "Name a folder that you may read with --dir")
	}
	c, err := standard.Load(context.Background(), a.whereabouts())
	if managed, ok := errors.AsType[*config.ManagedError](err); ok {
		return nil, &failure{fault.ExitConfig, managed.Error(), "Nothing is started meanwhile"}
	}
	if _, isProblem := errors.AsType[*config.Problem](err); err != nil && !isProblem {
		return nil, &failure{fault.ExitConfig, err.Error(), "Or name another file with --config"}
	}
	return c, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// journalDir is the folder of the event log.
func (a *app) journalDir(c *config.Config) string {
	if c.Log.Dir != "" {
		return c.Log.Dir
	}
	return standard.JournalDir(a.data())
}

// whereabouts is where all files are that this run reads, and what the command line says in their place.
func (a *app) whereabouts() standard.Options {
	return standard.Options{
		ConfigPath: a.path(), DataDir: a.data(), Dir: a.dir, CommandLine: a.mcpConfig, Strict: a.strict, Mode: a.mode,
	}
}

// opening says what to open of a host.
type opening struct {
	only         func(server string) bool // nil: all servers
	withoutLocal bool                     // the built-in tools aren't there
	asker        permission.Asker         // nil: nobody can be asked
	lazy         bool                     // servers start only when something needs them
	stays        bool                     // it lives longer than one command: servers that fail are tried again
	// notice hears of changes of the configuration while the host is open; nil: nobody does.
	notice func(text string)
	// observe hears of each event; nil: nobody does.
	observe func(event.Data)
}

// withHost opens a host for f and closes it in any case. ctx of f ends with the first signal to stop.
func (a *app) withHost(ctx context.Context, o opening, f func(context.Context, *standard.Host) error) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	so := a.whereabouts()
	so.Asker, so.Only, so.WithoutLocal, so.Watchdog = o.asker, o.only, o.withoutLocal, []string{exe, watchdogArg}
	so.Command, so.Notice, so.Observe, so.Once = a.command(), o.notice, o.observe, !o.stays
	so.Lazy = o.lazy
	h, err := standard.Open(context.WithoutCancel(ctx), so)
	if err != nil {
		return openFailure(err)
	}
	defer func() {
		if e := h.Close(); err == nil {
			err = e
		}
	}()
	return f(ctx, h)
}

func openFailure(err error) error {
	_, isFault := errors.AsType[*fault.Error](err)
	_, isProblem := errors.AsType[*config.Problem](err)
	if isFault || isProblem {
		return err
	}
	return usage(err.Error(), "Name a folder that you may read with --dir")
}

// interruptible returns a context that ends with the first signal to stop; the second one ends the process. A reader of
// our output that goes away is an error of writing, not a signal, so that what we started is ended in order.
func interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	stop, pipe := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(pipe, syscall.SIGPIPE)
	go func() {
		<-stop
		cancel()
		if s, ok := (<-stop).(syscall.Signal); ok {
			os.Exit(128 + int(s))
		}
	}()
	return ctx, cancel
}

// mistakes shows the parts of the configuration that were left out: those that matters wants in full, of the others only
// how many there are, unless there is one.
func (a *app) mistakes(problems []config.Problem, matters func(config.Problem) bool) {
	var others []config.Problem
	for _, p := range problems {
		if matters(p) {
			a.notes([]config.Problem{p})
		} else {
			others = append(others, p)
		}
	}
	if len(others) < 2 {
		a.notes(others)
		return
	}
	fmt.Fprintf(a.err, "%s %s; %s doctor\n", a.err.paint(yellow, "config:"), plural(len(others), "mistake"), a.command())
}

// notes shows the parts of the configuration that were left out.
func (a *app) notes(problems []config.Problem) {
	for _, p := range problems {
		fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "config:"), a.err.wrapped(line(p.Error()), len("config: ")))
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event/index"
	"github.com/usher-mcp/usher/fault"
	near "github.com/usher-mcp/usher/internal/nearest"
)

// eventShow is one run of the events command.
type eventShow struct {
	*app
	config  *config.Config
	log     *index.Log
	q       index.Query
	table   *eventWriter
	damaged bool
}

func (a *app) showEvents(ctx context.Context, q index.Query, follow bool) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	c, err := a.load()
	if err != nil {
		return err
	}
	dir := a.journalDir(c)
	s := &eventShow{app: a, config: c, q: q, table: &eventWriter{app: a, now: time.Now()}}
	switch {
	case !exists(dir):
		fmt.Fprintf(a.err, "no events yet: there is no folder %s\n  The first %[2]s tools or %[2]s call makes it\n", line(dir), line(a.command()))
		if !follow {
			return nil
		}
		s.log, s.table.today = index.OpenDirect(dir), true
	case q.All() && q.Limit == 0:
		s.log = index.OpenDirect(dir)
	default:
		if s.log, err = s.openIndex(ctx, dir); err != nil {
			return readFailure(err)
		}
	}
	defer s.log.Close()
	if exists(dir) {
		if err := s.past(ctx, follow); err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	if a.err.tty {
		fmt.Fprintln(a.err, a.err.paint(dim, "what comes is shown; Ctrl-C ends"))
	}
	return readFailure(s.log.Follow(ctx, q, s.one))
}

// openIndex tells how far it is where that takes long.
func (s *eventShow) openIndex(ctx context.Context, dir string) (*index.Log, error) {
	p, begun := &progress{to: s.err}, time.Now()
	defer p.clear()
	return index.Open(ctx, dir, func(done, total int64) {
		more := ""
		if s.err.tty {
			more = fmt.Sprintf(" %d %%", 100*done/max(total, 1))
		}
		if time.Since(begun) >= patience {
			p.show("reading the log for the first time …", more)
		}
	})
}

// past shows what is in the log already.
func (s *eventShow) past(ctx context.Context, follow bool) error {
	if err := s.knownServer(ctx); err != nil {
		return err
	}
	var last []index.Found
	show := s.one
	if s.q.Limit > 0 { // whether all are of today is to be known before the first
		show = func(f index.Found) error {
			if f.Err != nil {
				return s.one(f)
			}
			f.Line, f.Event.Data = slices.Clone(f.Line), slices.Clone(f.Event.Data)
			last = append(last, f)
			return nil
		}
	}
	sum, err := s.log.Find(ctx, s.q, show)
	if err != nil {
		return readFailure(err)
	}
	s.table.today = s.q.Limit > 0 && !slices.ContainsFunc(last, func(f index.Found) bool { return !sameDay(f.Event.Time, s.table.now) })
	for _, f := range last {
		if err := s.one(f); err != nil {
			return err
		}
	}
	return s.after(ctx, sum, follow)
}

func (s *eventShow) one(f index.Found) error {
	switch {
	case f.Err != nil:
		s.damaged = true
		_, err := fmt.Fprintf(s.err, "%s %s\n", s.err.paint(red, "damaged:"), line(f.Err.Error()))
		return err
	case s.json:
		return s.table.stored(f.Line)
	}
	return s.table.one(f.Event)
}

func (s *eventShow) after(ctx context.Context, sum index.Summary, follow bool) error {
	switch {
	case s.json || follow:
	case sum.Found == 0:
		fmt.Fprintln(s.err, "no events match"+s.nearestTool(ctx))
	case sum.More && sum.Total >= 0:
		fmt.Fprintf(s.err, "the last %d of %d; --limit 0 shows all\n", sum.Found, sum.Total)
	case sum.More:
		fmt.Fprintf(s.err, "the last %d that match; --limit 0 shows all\n", sum.Found)
	}
	if s.damaged && !follow {
		return &failure{fault.ExitLog, "the event log is damaged", "To see all of it, run: " + self + " events verify"}
	}
	return nil
}

// knownServer fails for a server that neither the log nor the configuration names.
func (s *eventShow) knownServer(ctx context.Context) error {
	names, known := s.log.Servers(ctx)
	names = append(names, serverNames(s.config)...)
	if s.q.Server == "" || !known || len(names) == 0 || slices.Contains(names, s.q.Server) {
		return nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	text := fmt.Sprintf("no event is about a server %q%s", s.q.Server, didYouMean(near.Name(s.q.Server, names)))
	rest := ""
	if n := len(names); n > mostServers {
		names, rest = names[:mostServers], fmt.Sprintf(" and %d more", n-mostServers)
	}
	return usage(text, "There are: "+strings.Join(names, ", ")+rest)
}

const mostServers = 20 // in a hint

// nearestTool is for a tool that no event names.
func (s *eventShow) nearestTool(ctx context.Context) string {
	if s.q.Tool == "" {
		return ""
	}
	names, _ := s.log.Tools(ctx)
	return didYouMean(near.Name(s.q.Tool, names))
}

func readFailure(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return cantRead(err)
	}
	return err
}

func cantRead(err error) error {
	return &failure{fault.ExitLog, err.Error(), "Run as the user whose log it is, or name its folder with --data"}
}

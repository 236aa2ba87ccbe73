// Package standard opens a host as the usher command does: from the user's configuration file, with the journal as its
// log, the transports of this version, and the built-in tools.
//
// It only wires. A program that wants other parts calls usher.Open itself.
package standard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/builtin"
	"github.com/usher-mcp/usher/internal/secret"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/internal/wake"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

// Options say where things lie. The zero value is what the usher command uses.
type Options struct {
	ConfigPath string // the user's file; default config.DefaultPath
	Managed    string // the administrator's file; default config.ManagedPath
	// CommandLine is configuration that counts for this run alone: files, or JSON, which begins with {. Strict leaves out
	// the servers of all other sources but the administrator's.
	CommandLine []string
	Strict      bool
	Mode        string           // a mode as permission.ParseMode reads it; default what the configuration says
	DataDir     string           // default DataDir()
	Dir         string           // the working folder, which the built-in tools stay in; default the process's
	Asker       permission.Asker // default: nobody can be asked
	// Command is how hints call the usher command; default "usher".
	Command string
	// Notice is told, in a sentence, when the file changes while the host runs: that it is in force, or why not. Default:
	// nobody is told but the log.
	Notice func(text string)
	// Observe is told each event that goes to the log, in the goroutine of what happens, so it must return at once; it is
	// called from several at a time. Default: nobody is told.
	Observe func(event.Data)
	// Only starts a part of the configured servers; nil: all.
	Only func(server string) bool
	// Lazy leaves servers alone until something needs one; see usher.Options.
	Lazy bool
	// WithoutLocal leaves the built-in tools out.
	WithoutLocal bool
	// Once is for a host that lives for one command: a server that can't be reached is told of, not tried again.
	Once bool
	// Watchdog is the command that looks after a child process and outlives this one: the program's own path and an
	// argument that makes it call Watchdog. Nil: a killed host leaves its servers' grandchildren behind.
	Watchdog []string
	// RotateBytes is the size from which on a journal file is finished and the next one started; default 64 MiB.
	RotateBytes int64
	Clock       event.Clock                // default time.Now
	NewID       func(prefix string) string // default random
}

// Host is a usher.Host with what it was made from.
type Host struct {
	*usher.Host
	ConfigPath string
	DataDir    string
	Dir        string
	Problems   []config.Problem // parts of the configuration that were left out
	Journal    *journal.Journal
	Ledger     *sqlite.Ledger // approvals, trust and taint

	watched *watched
	strays  strays
	closers []func() error
}

// Rules returns the rules in force now.
func (h *Host) Rules() *permission.Policy { return h.watched.Policy() }

// Stray tells how many lines a server wrote to its standard output that are no messages, over all its starts, and the
// first of them. It is safe for concurrent use.
func (h *Host) Stray(server string) (count int, sample string) {
	h.strays.mu.Lock()
	defer h.strays.mu.Unlock()
	s := h.strays.all[server]
	return s.count, s.sample
}

// Open reads the configuration and opens a host from it. A broken entry is a Problem and stops nothing else; a file
// that can't be read at all is an error. ctx is the life of the host.
func Open(ctx context.Context, o Options) (_ *Host, err error) {
	o = o.withDefaults()
	h := &Host{ConfigPath: o.ConfigPath, DataDir: o.DataDir, Dir: o.Dir}
	defer func() {
		if err != nil {
			_ = h.Close()
		}
	}()
	if o.Mode != "" {
		if _, err := permission.ParseMode(o.Mode); err != nil {
			return nil, err
		}
	}
	c, err := Load(ctx, o) // where the log is, is written there
	if err != nil {
		return nil, err
	}
	secrets := new(secret.Set)
	secrets.Add(c.Secrets()...)
	h.Journal, err = journal.Open(ctx, journal.Options{
		Dir: journalDir(o, c), Durability: c.Log.Durability, Redact: secrets.RedactJSON, Clock: o.Clock, NewID: o.NewID,
		RotateBytes: o.RotateBytes,
	})
	if err != nil {
		return nil, err
	}
	h.closers = append(h.closers, h.Journal.Close)
	if h.Ledger, err = h.ledger(ctx); err != nil {
		return nil, err
	}
	h.closers = append(h.closers, h.Ledger.Close)
	local, err := h.local(o)
	if err != nil {
		return nil, err
	}
	if h.watched, err = watch(o, o.sources(trustedBy(ctx, h.Ledger)), h.trusts(ctx), h.record); err != nil {
		return nil, err
	}
	c = h.watched.config.Load()
	h.Problems = c.Problems
	secrets.Add(c.Secrets()...)
	h.loaded(c)
	h.strays.all = map[string]stray{}
	b := &builder{o: o, check: h.watched.check, redact: secrets.Redact, record: h.record, strays: &h.strays}
	h.closers = append(h.closers, b.close)
	opened := make(chan struct{})
	awake := wake.New(ctx, wake.Options{OnWake: func(uint64) {
		<-opened
		if h.Host != nil {
			h.Nudge()
		}
	}})
	h.closers = append(h.closers, func() error { awake.Close(); return nil })
	defer close(opened)
	h.Host, err = usher.Open(ctx, usher.Options{
		Servers: b.servers(c), Local: local, Policy: h.watched.Policy, Flows: h.watched.Flows, Mode: h.watched.Mode, Asker: o.Asker, Command: o.Command,
		Remember: h.remember, Questions: h.Ledger.Approvals(), AskWait: askWait(c.Approvals.Wait), AskKeep: c.Approvals.Keep, Taints: h.Ledger.Taints(),
		Redact: secrets.Redact, Errors: &c.Errors, Language: c.Locale, Woke: awake.Count, Store: h.store(ctx, c, secrets.Redact),
		Log: observed(h.Journal, o.Observe), HostSession: h.Journal.Host(), Clock: o.Clock, NewID: o.NewID, Lazy: o.Lazy,
	})
	if err != nil {
		return nil, err
	}
	h.watched.run(ctx, func(c *config.Config) (usher.Change, error) {
		secrets.Add(c.Secrets()...)
		h.SetWords(&c.Errors, c.Locale)
		return h.Apply(b.servers(c))
	})
	return h, nil
}

func (h *Host) local(o Options) (mcp.Handler, error) {
	if o.WithoutLocal {
		return nil, nil
	}
	local, closer, err := builtin.Files(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("the built-in tools can't work in %s: %w", o.Dir, err)
	}
	h.closers = append(h.closers, closer.Close)
	return local, nil
}

// ledger is where what can't be found out again is kept. Nothing runs without it.
func (h *Host) ledger(ctx context.Context) (*sqlite.Ledger, error) {
	l, err := sqlite.OpenLedger(ctx, LedgerPath(h.DataDir), sqlite.Options{Notice: func(text string) {
		h.record(event.ServerLog{Server: "usher", Level: "warning", Logger: "ledger", Message: text})
	}})
	if err != nil {
		return nil, &fault.Error{
			Kind: fault.LogUnavailable, Detail: "approvals and trust can't be kept: " + err.Error(),
			Hint: "Free space on the disk, or name another folder with --data or USHER_DATA", Cause: err,
		}
	}
	return l, nil
}

// trusts tells when trust changes, in this process or another.
func (h *Host) trusts(ctx context.Context) func() string {
	return func() string {
		all, err := h.Ledger.Trusts(ctx)
		if err != nil {
			return ""
		}
		var b strings.Builder
		for _, t := range all {
			b.WriteString(t.Key)
		}
		return b.String()
	}
}

func askWait(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// store is where what servers offer is kept over restarts; nil where the profile wants nothing kept. Trouble with it
// costs nothing but time at the next start.
func (h *Host) store(ctx context.Context, c *config.Config, redact func([]byte) []byte) usher.Store {
	if c.Profile.Cache != config.CacheDisk {
		return nil
	}
	tell := func(err error) {
		h.record(event.ServerLog{Server: "usher", Level: "warning", Logger: "catalog", Message: string(redact([]byte(err.Error())))})
	}
	db, err := sqlite.Open(ctx, filepath.Join(h.DataDir, "state.db"), sqlite.Options{Notice: func(text string) { tell(errors.New(text)) }})
	if err != nil {
		tell(err)
		return nil
	}
	h.closers = append(h.closers, db.Close)
	return db.Catalog()
}

func (o Options) withDefaults() Options {
	if o.ConfigPath == "" {
		o.ConfigPath = config.DefaultPath(os.LookupEnv)
	}
	if o.Managed == "" {
		o.Managed = config.ManagedPath()
	}
	if o.DataDir == "" {
		o.DataDir = DataDir()
	}
	if o.Dir == "" {
		o.Dir = "."
	}
	if abs, err := filepath.Abs(o.Dir); err == nil {
		o.Dir = abs
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	return o
}

// DataDir is where Usher keeps its log: $USHER_DATA, else $XDG_DATA_HOME/usher, else ~/.local/share/usher.
func DataDir() string {
	if d := os.Getenv("USHER_DATA"); d != "" {
		return d
	}
	if d := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "usher")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "usher")
	}
	return filepath.Join(home, ".local", "share", "usher")
}

// JournalDir is the folder of the log below a data folder.
func JournalDir(dataDir string) string { return filepath.Join(dataDir, "journal") }

func journalDir(o Options, c *config.Config) string {
	if c.Log.Dir != "" {
		return c.Log.Dir
	}
	return JournalDir(o.DataDir)
}

// observed is log with someone who hears of what it takes.
func observed(log event.Log, tell func(event.Data)) event.Log {
	if tell == nil {
		return log
	}
	return observer{log, tell}
}

type observer struct {
	event.Log
	tell func(event.Data)
}

func (o observer) Append(ctx context.Context, session string, data ...event.Data) (event.Mark, error) {
	m, err := o.Log.Append(ctx, session, data...)
	for i := 0; err == nil && i < len(data); i++ {
		o.tell(data[i])
	}
	return m, err
}

// loaded records what the configuration says and what of it was left out.
func (h *Host) loaded(c *config.Config) {
	e := event.ConfigLoaded{Sources: readable(c), Servers: []string{}}
	for _, s := range c.Servers {
		e.Servers = append(e.Servers, s.Name)
	}
	h.record(e)
	for _, p := range c.Problems {
		h.record(event.ConfigRejected{File: p.File, Line: p.Line, Field: p.Field, Message: p.Message})
	}
}

func (h *Host) record(d ...event.Data) {
	_, _ = h.Journal.Append(context.Background(), h.Journal.Host(), d...)
}

// remember writes a grant into the user's file.
func (h *Host) remember(g permission.Grant) error {
	grant := config.Grant{Tool: g.Canonical(), Entry: g.Entry, Definition: g.Definition, Package: g.Package}
	if _, err := config.AddGrant(h.ConfigPath, grant); err != nil {
		return err
	}
	_ = h.Reload() // it is told
	return nil
}

// Close ends the host, its servers and its log.
func (h *Host) Close() error {
	var err error
	if h.watched != nil {
		_ = h.watched.Close() // before the host: it gives it servers
	}
	if h.Host != nil {
		err = h.Host.Close()
	}
	for i := len(h.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, h.closers[i]())
	}
	h.closers = nil
	return err
}

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/secret"
	"github.com/usher-mcp/usher/standard"
)

func (a *app) doctor() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use: "doctor [SERVER]", Short: "Check the configuration, the log and each server",
		Long: `Check all that usher needs: the configuration, the folder of the log, and each server, which
is started for it. The exit code is 0 only when all is well. Rules that match no tool are
warnings: they don't change the exit code.

With a SERVER it tells all of that one: by which transport it is reached and why, how long
each step took, what it declares, and what is wrong with its tools.`,
		Example:           "  usher doctor\n  usher doctor jira\n  usher doctor jira --json",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeOneServer,
		RunE: a.run(func(ctx context.Context, args []string) error {
			d := &diagnosis{Servers: []serverHealth{}, Waiting: []idleServer{}, Blocked: []idleServer{}, Shadowed: []idleServer{}, verbose: verbose}
			if len(args) > 0 {
				d.only = args[0]
			}
			return a.diagnose(ctx, d)
		}),
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also how the era of each server was found")
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

// diagnosis is what doctor found.
type diagnosis struct {
	OK      bool           `json:"ok"`
	Config  configHealth   `json:"config"`
	Log     logHealth      `json:"log"`
	Servers []serverHealth `json:"servers"`
	// Waiting, Blocked and Shadowed are entries that don't run, and why; that is how it is meant, and no mistake.
	Waiting  []idleServer `json:"waiting"`
	Blocked  []idleServer `json:"blocked"`
	Shadowed []idleServer `json:"shadowed"`

	only    string // the one server that was asked for
	verbose bool
	code    int
}

type configHealth struct {
	Path     string          `json:"path"`
	Found    bool            `json:"found"`
	Problems []configProblem `json:"problems"`
	Warnings []ruleWarning   `json:"warnings"`
}

type configProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

type logHealth struct {
	Folder   string `json:"folder"`
	Writable bool   `json:"writable"`
	Error    string `json:"error,omitempty"`
	Hint     string `json:"hint,omitempty"`
}

type serverHealth struct {
	Name        string   `json:"name"`
	State       string   `json:"state"` // up, down or disabled
	Transport   string   `json:"transport"`
	Target      string   `json:"target"` // the command, or the address
	Era         string   `json:"era,omitempty"`
	Revision    string   `json:"revision,omitempty"`
	Why         string   `json:"why,omitempty"` // how the era was found
	TookMs      int64    `json:"tookMs,omitempty"`
	Tools       int      `json:"tools"`
	StrayLines  int      `json:"strayLines,omitempty"`
	StraySample string   `json:"straySample,omitempty"`
	Source      string   `json:"source"`
	From        string   `json:"from,omitempty"` // file and line, where it isn't the user's own file
	Error       string   `json:"error,omitempty"`
	Answered    string   `json:"answered,omitempty"` // the beginning of what came with an HTTP status that refuses
	Stderr      string   `json:"stderr,omitempty"`
	Hints       []string `json:"hints,omitempty"`

	Depth *depth `json:"depth,omitempty"` // of the one server that was asked for
}

// worst keeps the first code: the configuration comes before the log, and the log before the servers.
func (d *diagnosis) worst(code int) {
	if d.code == 0 {
		d.code = code
	}
}

func (a *app) diagnose(ctx context.Context, d *diagnosis) error {
	d.Config = configHealth{Path: a.path(), Found: exists(a.path()), Problems: []configProblem{}, Warnings: []ruleWarning{}}
	c, err := a.load()
	if p, ok := errors.AsType[*config.Problem](err); ok {
		d.problem(*p)
		return a.verdict(d)
	}
	if err != nil {
		return err
	}
	if d.only != "" && leftOut(c, d.only) == nil && !configured(c, d.only) {
		return usable(c, d.only)
	}
	for _, p := range c.Problems {
		if d.only == "" || fieldServer(p.Field) == d.only {
			d.problem(p)
		}
	}
	d.idle(c)
	d.Log.Folder = a.journalDir(c)
	if err := a.examine(ctx, d, c); err != nil {
		return err
	}
	return a.verdict(d)
}

func (d *diagnosis) problem(p config.Problem) {
	d.Config.Problems = append(d.Config.Problems, configProblem(p))
	d.worst(fault.ExitConfig)
}

func (a *app) verdict(d *diagnosis) error {
	d.OK = d.code == 0
	if err := a.showDiagnosis(d); err != nil {
		return err
	}
	if !d.OK {
		return exit(d.code)
	}
	return nil
}

func configured(c *config.Config, name string) bool {
	for _, s := range c.Servers {
		if s.Name == name {
			return true
		}
	}
	return false
}

// examine opens the log and starts the servers.
func (a *app) examine(ctx context.Context, d *diagnosis, c *config.Config) error {
	o := opening{only: func(s string) bool { return d.only == "" || s == d.only }}
	err := a.withHost(ctx, o, func(ctx context.Context, h *standard.Host) error {
		d.Log.Writable = true
		if err := a.ready(ctx, h.Host); err != nil {
			return err
		}
		status := map[string]usher.ServerStatus{}
		for _, s := range h.Servers() {
			status[s.Name] = s
		}
		tools, err := allTools(h, "usher doctor")
		if err != nil {
			return err
		}
		secrets := new(secret.Set)
		secrets.Add(c.Secrets()...)
		x := examiner{secrets.Redact, h.Stray}
		for _, s := range c.Servers {
			switch {
			case d.only == "":
				d.add(x.health(s, status[s.Name]))
			case s.Name == d.only:
				d.add(a.deepHealthOf(x, s, status[s.Name], tools))
			}
		}
		w := surroundingsOf(c, h.Servers(), tools)
		d.Config.Warnings = lint{a, c, h.Known(), w}.all(d.only)
		return nil
	})
	if fault.KindOf(err) == fault.LogUnavailable {
		f := explain(err)
		d.Log.Writable, d.Log.Error, d.Log.Hint = false, f.text, a.hint(f.hint)
		d.worst(fault.ExitLog)
		return nil
	}
	return err
}

func (d *diagnosis) add(s serverHealth) {
	if s.State == "down" {
		d.worst(fault.ExitUnavailable)
	}
	d.Servers = append(d.Servers, s)
}

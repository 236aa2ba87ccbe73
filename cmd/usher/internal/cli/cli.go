// Package cli is the usher command: it reads the command line, calls the library and shows what it answers, as a table
// for people or as JSON for programs.
//
// It decides nothing about a call and speaks no protocol. Results go to standard output, all else to standard error.
// Text that comes from servers is made printable before it reaches a terminal.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	near "github.com/usher-mcp/usher/internal/nearest"
	"github.com/usher-mcp/usher/standard"
)

// watchdogArg is the hidden command that looks after a server's process and outlives usher.
const watchdogArg = "__watchdog"

// Main runs the command line of this process and returns its exit code.
func Main() int {
	if len(os.Args) > 1 && os.Args[1] == watchdogArg {
		return standard.Watchdog()
	}
	a := &app{in: os.Stdin, out: newTerminal(os.Stdout), err: newTerminal(os.Stderr)}
	root := a.root()
	root.SetArgs(os.Args[1:])
	err := root.ExecuteContext(context.Background())
	if err != nil && !a.running {
		err = misunderstood(err)
	}
	return a.report(err)
}

// app is one run of the command.
type app struct {
	in       *os.File
	out, err *terminal

	configPath, dataDir, dir string   // flags; empty: the default
	mcpConfig                []string // configuration for this run alone
	strict                   bool     // nothing but that, and the administrator's
	mode                     string   // empty: as the configuration says
	json                     bool

	running bool // the command line was understood
}

// root makes the tree of commands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "usher",
		Short: "One gate between agents and MCP servers",
		Long: `Usher connects agents to MCP servers through one gate: it asks before what is not
plainly safe, checks arguments, and records every step.

Start with: usher doctor, usher tools, usher serve
Exit codes: usher help exit-codes`,
		Version:       versionText(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("usher {{.Version}}\n")
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	a.fitHelp(root)
	f := root.PersistentFlags()
	f.StringVar(&a.configPath, "config", "", "configuration `file` (default $USHER_CONFIG, or usher/mcp.config.json in $XDG_CONFIG_HOME or ~/.config)")
	f.StringVar(&a.dataDir, "data", "", "`folder` of the event log (default $USHER_DATA, or usher in $XDG_DATA_HOME or ~/.local/share)")
	f.StringVar(&a.dir, "dir", "", "`folder` that the built-in tools stay in (default the current one)")
	f.StringArrayVar(&a.mcpConfig, "mcp-config", nil, "more servers for this run: a `file`, or JSON; may be given again")
	f.BoolVar(&a.strict, "strict-mcp-config", false, "only the servers of --mcp-config, and the administrator's")
	f.StringVar(&a.mode, "mode", "", "how to treat what no rule decides: `MODE` is default, accept-reads, plan, dont-ask or bypass")
	root.AddCommand(a.tools(), a.call(), a.events(), a.allow(), a.approvalsCommand(), a.doctor(), a.serversCommand(), a.serve(), a.stdio(), a.connectCommand(), a.importCommand(), a.configCommand(), a.secretCommand(), a.trustCommand(), a.permissionCommand(), a.version(), a.conformance())
	root.AddCommand(helpTopics()...)
	root.SetHelpCommand(helpCommand(root))
	return root
}

// run makes a command's function: from here on an error is not about the command line.
func (a *app) run(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.running = true
		return f(cmd.Context(), args)
	}
}

func (a *app) jsonFlag(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&a.json, "json", false, what)
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s takes no %q", cmd.CommandPath(), args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "; did you mean " + cmd.CommandPath() + " " + near[0] + "?"
	}
	return usage(text, "See: "+cmd.CommandPath()+" --help")
}

// misunderstood is what cobra says of a command line, such as which commands are near an unknown one.
func misunderstood(err error) error {
	if _, ok := errors.AsType[*failure](err); ok {
		return err
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	return usage(strings.Replace(text, " Did you mean this? ", "; did you mean: ", 1), "See: usher --help")
}

func flagError(cmd *cobra.Command, err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "unknown flag: --"); ok {
		if near := near.Name(name, flagNames(cmd)); near != "" {
			text += "; did you mean --" + near + "?"
		}
	}
	if strings.Contains(text, "time: missing unit in duration") {
		if number, flag, ok := badDuration(text); ok {
			return usage(fmt.Sprintf("%s %s has no unit", flag, number), "Write "+flag+" "+number+"s")
		}
	}
	return usage(text, "See: "+cmd.CommandPath()+" --help")
}

// badDuration takes apart what pflag says of a value that is no duration.
func badDuration(text string) (value, flag string, ok bool) {
	_, err := fmt.Sscanf(text, "invalid argument %q for %q flag:", &value, &flag)
	return value, flag, err == nil
}

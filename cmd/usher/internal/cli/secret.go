package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/keyring"
	near "github.com/usher-mcp/usher/internal/nearest"
)

func (a *app) secretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "secret", Short: "Keep tokens in the keyring instead of in the configuration",
		Long: `Keep tokens and passwords in the keyring of your desktop, under a name. In the entry of a
server, ${keyring:NAME} stands for the value, in all texts where ${VARIABLE} may stand. No
command shows a value.`,
		Example: `  usher secret set github-token
  pass show github | usher secret set github-token
  usher secret list`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.setSecret(), a.listSecrets(), a.removeSecret())
	return cmd
}

func (a *app) setSecret() *cobra.Command {
	return &cobra.Command{
		Use: "set NAME", Short: "Keep a secret, or change it",
		Long: `Keep a secret in the keyring, in the place of an older one of that name. The value is asked
for and not shown while you type; or it comes from the standard input, without the line
break at its end. It can't be an argument: those stay in the history of your shell, and
every program on this machine can read them.`,
		Example: "  usher secret set github-token\n  pass show github | usher secret set github-token",
		Args:    oneSecret,
		RunE:    a.run(func(ctx context.Context, args []string) error { return a.set(ctx, args[0]) }),
	}
}

func (a *app) removeSecret() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Take a secret out of the keyring",
		Long:    `Take a secret out of the keyring. An entry that refers to it is left out from then on.`,
		Example: "  usher secret remove github-token",
		Args:    oneSecret,
		RunE:    a.run(func(ctx context.Context, args []string) error { return a.remove(ctx, args[0]) }),
	}
}

func (a *app) listSecrets() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the names of the secrets in the keyring",
		Long: `List the names of the secrets in the keyring that usher secret set has kept, and those that
your configuration refers to and that aren't there. No value is read.`,
		Args: noArgs,
		RunE: a.run(func(context.Context, []string) error { return a.secrets() }),
	}
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

// oneSecret never shows what is one argument too many: it may be the secret.
func oneSecret(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usage(cmd.CommandPath()+" needs the name of a secret", "Such as: "+cmd.CommandPath()+" github-token")
	case len(args) > 1 && cmd.Name() == "set":
		return usage("the value can't be an argument: it would stay in the history of your shell", "Leave it out, and it is asked for; if it was a real one, change it where it is from")
	case len(args) > 1:
		return usage(cmd.CommandPath()+" takes one name", "See: "+cmd.CommandPath()+" --help")
	}
	if err := config.CheckSecretName(args[0]); err != nil {
		return usage(err.Error(), "See: "+cmd.CommandPath()+" --help")
	}
	return nil
}

func (a *app) set(ctx context.Context, name string) error {
	if err := a.mayDecide(ctx); err != nil {
		return err
	}
	ring, err := openRing()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	value, err := a.secretValue(ctx, name)
	if err != nil {
		return err
	}
	if err := ring.Set(name, value); err != nil {
		return ringFailure(err)
	}
	fmt.Fprintf(a.out, "kept %s in the keyring\n", a.out.paint(bold, name))
	if !slices.Contains(a.referredTo(), name) {
		fmt.Fprintf(a.out, "  to use it, write ${keyring:%s} into the entry of a server\n", name)
	}
	_, err = fmt.Fprintln(a.out, "  a running usher takes it up when it is started again")
	return err
}

// secretValue is what a person types, unseen, or what comes from a pipe.
func (a *app) secretValue(ctx context.Context, name string) (string, error) {
	if !isTerminal(a.in) {
		b, err := io.ReadAll(io.LimitReader(a.in, keyring.MaxSecret+3))
		if err != nil {
			return "", err
		}
		return checkedSecret(strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"))
	}
	fmt.Fprintf(a.err, "value of %s (it isn't shown): ", name)
	b, err := readUnseen(ctx, int(a.in.Fd()))
	fmt.Fprintln(a.err)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		return "", err
	}
	return checkedSecret(string(b))
}

// readUnseen reads a line that the terminal doesn't show. When ctx ends, the terminal shows again what is typed, and the
// reader stays until the next line comes, which nobody gets then.
func readUnseen(ctx context.Context, fd int) ([]byte, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	type line struct {
		text []byte
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		return l.text, l.err
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), term.Restore(fd, before))
	}
}

func checkedSecret(value string) (string, error) {
	switch {
	case value == "":
		return "", usage("the value is empty; nothing was changed", "To take a secret out, run: "+self+" secret remove NAME")
	case len(value) > keyring.MaxSecret:
		return "", usage(fmt.Sprintf("the value is longer than %d bytes; nothing was changed", keyring.MaxSecret), "A keyring is for tokens and keys; name larger files by their path")
	case strings.ContainsRune(value, 0):
		return "", usage("the value has a NUL character, which can't be passed on; nothing was changed", "Encode it as text first")
	}
	return value, nil
}

func (a *app) remove(ctx context.Context, name string) error {
	if err := a.mayDecide(ctx); err != nil {
		return err
	}
	ring, err := openRing()
	if err != nil {
		return err
	}
	err = ring.Delete(name)
	if errors.Is(err, keyring.ErrNotFound) {
		text := "the keyring has no secret " + name
		if names, err := ring.List(); err == nil {
			if n := near.Name(name, names); n != "" {
				text += "; did you mean " + n + "?"
			}
		}
		return usage(text, "To see their names, run: "+self+" secret list")
	}
	if err != nil {
		return ringFailure(err)
	}
	fmt.Fprintf(a.out, "removed %s from the keyring\n", a.out.paint(bold, name))
	if slices.Contains(a.referredTo(), name) {
		fmt.Fprintf(a.err, "%s %s still refers to it\n", a.err.paint(yellow, "note:"), line(a.path()))
	}
	return nil
}

// listedSecrets is what usher secret list prints.
type listedSecrets struct {
	Secrets []string `json:"secrets"`
	Missing []string `json:"missing"` // the configuration refers to them
}

func (a *app) secrets() error {
	ring, err := openRing()
	if err != nil {
		return err
	}
	names, err := ring.List()
	if err != nil {
		return ringFailure(err)
	}
	l := listedSecrets{Secrets: names, Missing: []string{}}
	used := a.referredTo()
	for _, n := range used {
		if !slices.Contains(names, n) {
			l.Missing = append(l.Missing, n)
		}
	}
	if a.json {
		return writeJSON(a.out, l)
	}
	if len(names) > 0 {
		t := &table{head: []string{"SECRET", "IN THE CONFIGURATION"}}
		for _, n := range names {
			use := cell{"no", dim}
			if slices.Contains(used, n) {
				use = cell{"yes", ""}
			}
			t.rows = append(t.rows, []cell{{line(n), ""}, use})
		}
		t.print(a.out)
	} else {
		fmt.Fprintf(a.err, "no secrets in the keyring\n  To keep one, run: %s secret set NAME\n", line(a.command()))
	}
	for _, n := range l.Missing {
		fmt.Fprintf(a.err, "%s %s refers to %s, which isn't there\n  To keep it, run: %s secret set %s\n",
			a.err.paint(yellow, "note:"), line(a.path()), n, line(a.command()), n)
	}
	return nil
}

// referredTo are the names that the user's own file has in entries that may run. A broken file has none.
func (a *app) referredTo() (names []string) {
	text, err := os.ReadFile(a.path())
	if err != nil {
		return nil
	}
	note := func(name string) (string, error) {
		names = append(names, name)
		return "value", nil
	}
	_, _ = config.ParseFrom(a.path(), text, config.From{Env: os.LookupEnv, Keyring: note})
	slices.Sort(names)
	return slices.Compact(names)
}

func openRing() (*keyring.Ring, error) {
	ring, err := keyring.Open()
	if err != nil {
		return nil, ringFailure(err)
	}
	return ring, nil
}

func ringFailure(err error) error {
	return &failure{fault.ExitUnavailable, err.Error(), "Where there is no keyring, use ${NAME} in the configuration, and set the variable"}
}

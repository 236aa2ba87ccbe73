package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// addition is a server to add, as the command line has it.
type addition struct {
	name         string
	command      []string
	url, kind    string
	cwd          string
	env, headers []string // NAME=VALUE
}

func (a *app) addServer() *cobra.Command {
	var n addition
	cmd := &cobra.Command{
		Use: "add NAME [flags] (--url URL | -- COMMAND [ARG…])", Short: "Add a server to the configuration",
		Long: `Add a server to the configuration: a program that is started, or an address. Where usher
runs it takes the server up at once.

A value that is secret belongs into a variable of yours: --env NAME passes your NAME on,
and in any value ${NAME} stands for it; quote that for the shell.`,
		Example: `  usher servers add fs -- npx -y @modelcontextprotocol/server-filesystem .
  usher servers add jira --env JIRA_TOKEN -- uvx jira-mcp
  usher servers add docs --url https://docs.example/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'`,
		Args: func(cmd *cobra.Command, args []string) error { return n.read(args) },
		RunE: a.run(func(ctx context.Context, _ []string) error { return a.add(ctx, n) }),
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		f := explain(flagError(cmd, err))
		if !strings.Contains(f.text, "did you mean") {
			f.hint = "Flags of the server's command come behind --, such as: " + self + " servers add NAME -- COMMAND -y"
		}
		return f
	})
	f := cmd.Flags()
	f.StringVar(&n.url, "url", "", "`address` of a remote server")
	f.StringVar(&n.kind, "type", "", "`TYPE` of an address that doesn't tell it: http, sse, ws or grpc")
	f.StringVar(&n.cwd, "cwd", "", "working `folder` of the command")
	f.StringArrayVar(&n.env, "env", nil, "variable of the command, `NAME=VALUE`, or NAME to pass yours on; repeatable")
	f.StringArrayVar(&n.headers, "header", nil, "header for the address, `NAME=VALUE`; repeatable")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions([]string{"http", "sse", "ws", "grpc"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	return cmd
}

// read takes the arguments apart.
func (n *addition) read(args []string) error {
	such := "Such as: " + self + " servers add fs -- npx -y @modelcontextprotocol/server-filesystem ."
	if len(args) == 0 {
		return usage("a server needs a name", such)
	}
	n.name, n.command = args[0], args[1:]
	if n.url == "" && len(n.command) == 1 && strings.Contains(n.command[0], "://") {
		n.url, n.command = n.command[0], nil
	}
	switch {
	case n.url == "" && strings.Contains(n.name, "://"):
		return usage("the server needs a name, too", "Such as: "+self+" servers add NAME --url "+shellWord(n.name))
	case n.url != "" && len(n.command) > 0:
		return usage("give a command or --url, not both", such)
	case n.url == "" && len(n.command) == 0:
		return usage("server "+line(n.name)+" needs a command or --url", such)
	case n.url == "" && len(n.headers) > 0:
		return usage("--header is for an address; a command has --env", such)
	case n.url != "" && (len(n.env) > 0 || n.cwd != ""):
		return usage("--env and --cwd are for a command; an address has --header", "Such as: "+self+" servers add docs --url https://docs.example/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'")
	}
	return nil
}

// entry is what stands in the configuration.
type entry struct {
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// entry makes the entry; literal are the names of values that look secret and aren't variables. No error has a value.
func (n addition) entry() (e entry, literal []string, err error) {
	e = entry{Type: n.kind, URL: n.url, Headers: map[string]string{}, Env: map[string]string{}}
	if len(n.command) > 0 {
		e.Command, e.Args = n.command[0], n.command[1:]
		if strings.Contains(e.Command, "/") { // usher may run elsewhere
			e.Command = fromHere(e.Command)
		}
	}
	if n.cwd != "" {
		e.Cwd = fromHere(n.cwd)
	}
	for _, pair := range n.env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			value = "${" + name + "}"
		}
		e.Env[name] = value
		literal = append(literal, literalSecret("--env", name, value)...)
	}
	for _, pair := range n.headers {
		at := strings.IndexAny(pair, "=:")
		if at < 1 {
			return e, nil, usage("--header needs NAME=VALUE", "Such as: --header 'Authorization=Bearer ${DOCS_TOKEN}'")
		}
		name, value := strings.TrimSpace(pair[:at]), strings.TrimSpace(pair[at+1:])
		e.Headers[name] = value
		literal = append(literal, literalSecret("--header", name, value)...)
	}
	for i, arg := range e.Args {
		if secretPair.MatchString(arg) && !strings.Contains(arg, "${") ||
			i > 0 && secretFlag.MatchString(e.Args[i-1]) && !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "${") {
			literal = append(literal, fmt.Sprintf("argument %d", i+1))
		}
	}
	return e, literal, nil
}

// fromHere makes a path good for a process with another working folder. A variable may make it absolute.
func fromHere(path string) string {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, "${") {
		return path
	}
	return absolute(path)
}

var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|auth|credential|cookie`)

func literalSecret(flag, name, value string) []string {
	if value == "" || strings.Contains(value, "${") || !secretName.MatchString(name) {
		return nil
	}
	return []string{flag + " " + name}
}

func (a *app) add(ctx context.Context, n addition) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	e, literal, err := n.entry()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return err
	}
	o, err := a.lookToAdd(ctx)
	if err != nil {
		return err
	}
	defer o.close()
	if err := a.elsewhere(o); err != nil {
		return err
	}
	if s, there := o.server(n.name); there && (!foreignTo(s.Source) || o.own(n.name)) || o.leftOut(n.name) != nil {
		return usage("there is a server "+line(n.name)+" already, in "+o.Config, "Choose another name, or remove that one first: "+self+" servers remove "+shellWord(n.name))
	}
	err = a.edit(ctx, o, []string{n.name}, "added", func(to editor, name string) (bool, error) {
		return true, to.AddServer(ctx, name, bytes.TrimSpace(text.Bytes()))
	})
	if err == nil {
		a.warnLiteral(literal, o.Config)
	}
	return err
}

// lookToAdd is lookAtServers for who makes the file where there is none.
func (a *app) lookToAdd(ctx context.Context) (*overview, error) {
	o, err := a.lookAtServers(ctx)
	if err != nil && a.namesConfig() && !exists(a.path()) {
		c, err := a.loadAny()
		if err != nil {
			return nil, err
		}
		o := new(overview)
		o.read(c, absolute(a.path()))
		return o, nil
	}
	return o, err
}

// warnLiteral tells of secrets that stand in the file now.
func (a *app) warnLiteral(names []string, path string) {
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	text := fmt.Sprintf("what looks secret stands in %s now: %s; to keep it out, write ${NAME} of a variable of yours in its place, in single quotes",
		path, strings.Join(names, ", "))
	fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "note:"), a.err.wrapped(line(text), len("note: ")))
}

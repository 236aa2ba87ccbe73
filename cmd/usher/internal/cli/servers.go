package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/admin"
	near "github.com/usher-mcp/usher/internal/nearest"
	"github.com/usher-mcp/usher/standard"
)

func (a *app) serversCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "servers", Short: "Show how the servers fare; restart, disable, add or remove them",
		Long: `Show the configured servers and, where usher serve runs on this data folder, how each of
them fares. It starts nothing. The commands below change a server in the configuration,
where comments and layout stay, and in the running usher at once.`,
		Example: "  usher servers\n  usher servers restart jira\n  usher servers add fs -- npx -y @modelcontextprotocol/server-filesystem .",
		Args:    a.noServerHere,
		RunE:    a.run(func(ctx context.Context, _ []string) error { return a.listServers(ctx) }),
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.restartServers(), a.switchServers("disable", true), a.switchServers("enable", false), a.addServer(), a.removeServers())
	for _, c := range append(cmd.Commands(), cmd) {
		a.jsonFlag(c, "print one JSON object")
	}
	return cmd
}

// noServerHere is noArgs for who wants to see one server.
func (a *app) noServerHere(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && slices.Contains(a.servers(), args[0]) {
		return usage("usher servers shows all of them", "For "+args[0]+" alone, run: "+self+" doctor "+shellWord(args[0]))
	}
	return noArgs(cmd, args)
}

// editor changes servers: the running usher, or the file where none runs.
type editor interface {
	SetDisabled(ctx context.Context, name string, disabled bool) error
	AddServer(ctx context.Context, name string, entry json.RawMessage) error
	RemoveServer(ctx context.Context, name string) error
}

var _ editor = (*admin.Client)(nil)

// overview is what there is to see of all servers.
type overview struct {
	Running bool `json:"running"`
	admin.Status

	client *admin.Client  // nil: none runs
	local  *config.Config // as this process reads the file; nil: it can't
	broken error          // why it can't
}

func (o *overview) close() {
	if o.client != nil {
		o.client.Close()
	}
}

// lookAtServers asks the running usher, or reads the file where none runs.
func (a *app) lookAtServers(ctx context.Context) (*overview, error) {
	client, err := admin.Dial(ctx, a.data())
	if errors.Is(err, admin.ErrNoDaemon) {
		c, err := a.load()
		if err != nil {
			return nil, err
		}
		o := new(overview)
		o.read(c, absolute(a.path()))
		return o, nil
	}
	if err != nil {
		return nil, apiFailure(err)
	}
	o := &overview{Running: true, client: client}
	if err := o.refresh(ctx); err != nil {
		o.close()
		return nil, err
	}
	there := a.whereabouts()
	there.ConfigPath = o.Config
	o.local, o.broken = standard.Load(ctx, there)
	if o.broken == nil && !exists(o.Config) && len(o.Servers) > 0 {
		o.local, o.broken = nil, errors.New("there is no "+o.Config+" any more")
	}
	return o, nil
}

// read takes what a file says for all that there is to know.
func (o *overview) read(c *config.Config, path string) {
	o.local, o.Config, o.Servers, o.Problems = c, path, admin.Configured(c), []admin.Problem{}
	o.Idle, o.Folder = append([]admin.Server{}, admin.Idle(c)...), c.Folder
	for _, p := range c.Problems {
		o.Problems = append(o.Problems, admin.Problem(p))
	}
}

func (o *overview) refresh(ctx context.Context) error {
	s, err := o.client.Status(ctx)
	if err != nil {
		return apiFailure(err)
	}
	o.Status = *s
	return nil
}

// elsewhere refuses to change another file than the one that a person named.
func (a *app) elsewhere(o *overview) error {
	if o.Running && a.namesConfig() && absolute(a.path()) != o.Config {
		return usage("the usher that serves this data folder has another configuration: "+o.Config,
			"Name that file with --config, or the data folder of the usher that you mean with --data")
	}
	return nil
}

func (o *overview) server(name string) (admin.Server, bool) {
	i := slices.IndexFunc(o.Servers, func(s admin.Server) bool { return s.Name == name })
	if i < 0 {
		return admin.Server{}, false
	}
	return o.Servers[i], true
}

// leftOut is the first problem that cost the entry of a server.
func (o *overview) leftOut(name string) *config.Problem {
	if _, ok := o.server(name); ok {
		return nil
	}
	for _, p := range o.Problems {
		if fieldServer(p.Field) == name {
			p := config.Problem(p)
			return &p
		}
	}
	return nil
}

// unknown says that nobody configured a server, and which one may be meant.
func (o *overview) unknown(name string) error {
	var names []string
	for _, s := range o.rows() {
		names = append(names, s.Name)
	}
	return noServer(name, names, o.Config)
}

// noServer is for a name that no server has.
func noServer(name string, names []string, path string) error {
	text, near := "no server is called \""+line(name)+"\"", near.Name(name, names)
	if len(names) > 0 && near == "" {
		return usage(text, "There are: "+someNames(names))
	}
	return usage(text+didYouMean(near), "Servers are configured in "+path+"; see: usher help config")
}

// apiFailure is an error of the admin API as a person reads it.
func apiFailure(err error) error {
	if s, ok := errors.AsType[*admin.SocketError](err); ok {
		return &failure{fault.ExitUnavailable, s.Text, s.Hint}
	}
	if errors.Is(err, admin.ErrNoDaemon) {
		return &failure{fault.ExitUnavailable, "usher has just ended", "To start it, run: " + self + " serve"}
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return &failure{fault.ExitConfig, err.Error(), "Nothing was changed"}
	}
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	switch e.Kind {
	case fault.NotFound, fault.InvalidParams: // their texts are those of calls
		return usage(e.Detail, strings.TrimSuffix(e.Hint, "."))
	case fault.Internal:
		return &failure{fault.ExitConfig, cmp.Or(e.Detail, e.Error()), "Nothing was changed, as far as is known; see: " + self + " servers"}
	}
	return err
}

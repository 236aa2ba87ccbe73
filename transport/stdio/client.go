package stdio

import (
	"context"
	"maps"
	"os"
	"slices"

	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// Options say which server to start.
type Options struct {
	Command string   // a name in the PATH, or a path, relative to Dir
	Args    []string // without the command
	// Env is added to the few variables that a server gets of ours, see sandbox.Environ.
	Env map[string]string
	Dir string // working directory; empty: ours
	// Launcher starts the process. Its zero value does, without a watchdog.
	Launcher sandbox.Launcher
	// OnStray hears of lines on stdout that are no messages: of the first at once, then at most once a second of how
	// many there were since, with the latest. The sample has at most 200 bytes of the line, redacted and made printable.
	// It is called within Receive and must not block. Nil: they are only counted.
	OnStray func(count int, sample string)
	// Redact takes secrets out of what is shown of the server's output; nil: none are known.
	Redact func([]byte) []byte
}

// New makes a Transport whose connections are processes. Its errors on Connect are those of sandbox.Launcher.Start.
// Each Conn is also a transport.Describer.
func New(o Options) transport.Transport {
	o.Args, o.Env = slices.Clone(o.Args), maps.Clone(o.Env)
	if o.Redact == nil {
		o.Redact = func(b []byte) []byte { return b }
	}
	return &client{o}
}

type client struct{ o Options }

var _ transport.Transport = (*client)(nil)

// Connect starts a process. Standard error is drained from then on, whether somebody receives or not.
func (c *client) Connect(ctx context.Context) (transport.Conn, error) {
	stderr := new(sandbox.Ring)
	p, err := c.o.Launcher.Start(ctx, sandbox.Spec{
		Command: c.o.Command,
		Args:    c.o.Args,
		Env:     sandbox.Environ(os.Environ(), c.o.Env),
		Dir:     c.o.Dir,
		Stderr:  stderr,
	})
	if err != nil {
		return nil, err
	}
	return &conn{
		proc:   p,
		stderr: stderr,
		turn:   make(chan struct{}, 1),
		now:    newWriter(p.Stdin()),
		in:     newFrames(p.Stdout(), mcp.MaxMessage),
		strays: strays{tell: c.o.OnStray, redact: c.o.Redact},
	}, nil
}

package admin

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/sandbox"
)

const asStranger = "ADMIN_TEST_STRANGER"

func TestMain(m *testing.M) {
	if path := os.Getenv(asStranger); path != "" {
		stranger(path)
	}
	if len(os.Args) > 1 && os.Args[1] == watchdogArg {
		os.Exit(sandbox.Watchdog(os.Args[2:]))
	}
	if network, address, ok := strings.Cut(os.Getenv(asClient), " "); ok {
		beClient(network, address)
	}
	if dir := os.Getenv(asDecider); dir != "" {
		decide(dir)
	}
	goleak.VerifyTestMain(m)
}

// desk is a host that notes what it was asked for.
type desk struct {
	config *config.Config
	status []usher.ServerStatus
	err    error
	wait   func(context.Context)

	mu    sync.Mutex
	asked []string
}

var _ Host = (*desk)(nil)

func (d *desk) Servers() []usher.ServerStatus { return d.status }
func (d *desk) Config() *config.Config        { return d.config }

func (d *desk) note(ctx context.Context, what string) error {
	d.mu.Lock()
	d.asked = append(d.asked, what)
	d.mu.Unlock()
	if d.wait != nil {
		d.wait(ctx)
	}
	return d.err
}

func (d *desk) were() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked)
}

func (d *desk) Restart(ctx context.Context, name string) error { return d.note(ctx, "restart "+name) }
func (d *desk) RemoveServer(ctx context.Context, name string) error {
	return d.note(ctx, "remove "+name)
}

func (d *desk) SetDisabled(ctx context.Context, name string, disabled bool) error {
	if disabled {
		return d.note(ctx, "disable "+name)
	}
	return d.note(ctx, "enable "+name)
}

func (d *desk) AddServer(ctx context.Context, name string, entry json.RawMessage) error {
	return d.note(ctx, "add "+name+" "+string(entry))
}

// parsed is a configuration as a file has it.
func parsed(t *testing.T, text string, env ...string) *config.Config {
	t.Helper()
	c, err := config.Parse(filepath.Join(t.TempDir(), "mcp.config.json"), []byte(text), func(name string) (string, bool) {
		for i := 0; i < len(env); i += 2 {
			if env[i] == name {
				return env[i+1], true
			}
		}
		return "", false
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// open serves d on a data folder of its own and connects to it.
func open(t *testing.T, o Options) *Client {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(t.Context(), o.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/http"
	"github.com/usher-mcp/usher/transport/sse"
	"github.com/usher-mcp/usher/transport/stdio"
)

// peer is a server and what is expected of it.
type peer struct {
	name    string
	command []string          // {port} in an argument is a free one; {dir} the scratch folder
	env     map[string]string // likewise
	url     string            // empty: stdio; with /sse at its end, the transport of 2024-11-05 is found by fallback

	tool, args string
	says       string // part of the outcome; empty: any answer will do, since it depends on the internet or a browser
}

// row is what came of it.
type row struct {
	name, transport, era, revision string
	tools                          int
	resources, templates, prompts  string // a number, - for none declared, or "error"
	took                           time.Duration
	call, outcome                  string
	good                           bool
}

func (w *world) visit(ctx context.Context, p peer) row {
	r := row{name: p.name, call: p.tool, transport: "stdio", resources: "-", templates: "-", prompts: "-"}
	if err := w.use(ctx, p, &r); err != nil {
		r.outcome = "failed: " + short(cmp.Or(fault.Of(err).Detail, err.Error()))
	}
	return r
}

func (w *world) use(ctx context.Context, p peer, r *row) error {
	t, o, end, err := w.reach(ctx, p)
	if err != nil {
		return err
	}
	defer end()
	o.Name, o.Info = p.name, mcp.Implementation{Name: "usher-peers", Version: "1"}
	start := time.Now()
	s, err := client.Connect(ctx, t, o)
	if err != nil {
		return err
	}
	defer s.Close()
	r.took = time.Since(start)
	info := s.Info()
	r.era, r.revision = info.Era.String(), info.Revision
	switch {
	case info.Fallback:
		r.transport = "sse"
	case p.url != "":
		r.transport = "http"
	}
	if err := list(ctx, s, r); err != nil {
		return err
	}
	return call(ctx, s, p, r)
}

// list counts all that the server says it has.
func list(ctx context.Context, s *client.Session, r *row) error {
	tools, err := s.ListTools(ctx)
	if err != nil {
		return fmt.Errorf("tools/list: %w", err)
	}
	r.tools = len(tools.Items)
	has := s.Info().Capabilities
	if mcp.Member(has, "resources") != nil {
		resources, err := s.ListResources(ctx)
		r.resources = count(len(resources.Items), err)
		templates, err := s.ListResourceTemplates(ctx)
		r.templates = count(len(templates.Items), err)
	}
	if mcp.Member(has, "prompts") != nil {
		prompts, err := s.ListPrompts(ctx)
		r.prompts = count(len(prompts.Items), err)
	}
	return nil
}

func count(n int, err error) string {
	if err != nil {
		return "error"
	}
	return strconv.Itoa(n)
}

func call(ctx context.Context, s *client.Session, p peer, r *row) error {
	params := `{"name":` + string(mcp.Quote(p.tool)) + `,"arguments":` + p.args + `}`
	m, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, json.RawMessage(params)), mcp.Nobody)
	if err != nil {
		return err
	}
	text := ""
	switch {
	case m.Error != nil:
		r.outcome, text = "error: ", m.Err().Message
	default:
		r.outcome = "ok: "
		if string(mcp.Member(m.Result, "isError")) == "true" {
			r.outcome = "tool error: "
		}
		for c := range mcp.Elements(mcp.Member(m.Result, "content")) {
			text += mcp.Text(mcp.Member(c, "text")) + " "
		}
	}
	whole := r.outcome + text
	r.good = strings.Contains(whole, p.says)
	r.outcome = short(whole)
	return nil
}

// short is a text on one line of at most 80 characters.
func short(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > 80 {
		r = append(r[:79], '…')
	}
	return string(r)
}

// reach starts a server that isn't on stdio and returns the way to it. End ends what was started.
func (w *world) reach(ctx context.Context, p peer) (t transport.Transport, o client.Options, end func(), err error) {
	address, port, err := freePort()
	if err != nil {
		return nil, o, nil, err
	}
	fill := strings.NewReplacer("{port}", port, "{dir}", w.dir, "{address}", address, "{bin}", filepath.Join(w.here, "node_modules", ".bin"),
		"{modules}", filepath.Join(w.here, "node_modules"), "{go}", filepath.Join(w.here, "bin"), "{real}", w.parts)
	env := map[string]string{"HOME": w.dir, "XDG_CONFIG_HOME": w.dir, "XDG_CACHE_HOME": w.dir, "XDG_DATA_HOME": w.dir}
	for k, v := range p.env {
		env[k] = fill.Replace(v)
	}
	var args []string
	for _, a := range p.command {
		args = append(args, fill.Replace(a))
	}
	if p.url == "" {
		t = stdio.New(stdio.Options{Command: args[0], Args: args[1:], Env: env, Dir: w.dir, Launcher: sandbox.Launcher{Watchdog: w.watchdog}})
		return t, o, func() {}, nil
	}
	end, err = listening(ctx, address, args, env, w.dir)
	if err != nil {
		return nil, o, nil, err
	}
	url := fill.Replace(p.url)
	if t, err = http.New(http.Options{URL: url}); err == nil {
		o.Fallback, err = sse.New(sse.Options{URL: url})
	}
	if err != nil {
		end()
	}
	return t, o, end, err
}

// listening starts a process, and waits until it listens.
func listening(ctx context.Context, address string, args []string, env map[string]string, dir string) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = os.Environ()
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 2 * time.Second // its own children may hold the pipe
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	end = func() {
		cancel()
		<-ended
	}
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			_ = c.Close()
			tick.Stop()
			return end, nil
		}
		select {
		case <-tick.C:
			continue
		case <-ended:
			err = errors.New("it ended: " + mcp.Cut(out.String(), 300))
		case <-ctx.Done():
			err = errors.New("it doesn't listen on " + address)
		}
		tick.Stop()
		end()
		return nil, err
	}
}

func freePort() (address, port string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer l.Close()
	address = l.Addr().String()
	_, port, err = net.SplitHostPort(address)
	return address, port, err
}

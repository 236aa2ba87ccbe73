package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/usher-mcp/usher/bench/floor"
	"github.com/usher-mcp/usher/internal/gateway"
	"github.com/usher-mcp/usher/standard"
)

// world is what is measured: four endpoints in processes of their own, and the configuration of the gateway.
type world struct {
	self, dir, config string
	children          []*exec.Cmd

	gateway               string // address of usher; tools mcp__stdio__echo and mcp__http__echo
	floorStdio, floorHTTP string
	upstreamURL           string
}

func newWorld() (w *world, err error) {
	w = new(world)
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if w.dir, err = os.MkdirTemp("", "usher-bench-"); err != nil {
		return nil, err
	}
	if w.upstreamURL, err = w.start("upstream-http"); err != nil {
		return nil, err
	}
	if err := w.writeConfig(); err != nil {
		return nil, err
	}
	for _, p := range []struct {
		to   *string
		args []string
	}{
		{&w.floorStdio, []string{"floor-stdio"}}, {&w.floorHTTP, []string{"floor-http", w.upstreamURL}}, {&w.gateway, []string{"gateway", w.dir}},
	} {
		address, err := w.start(p.args...)
		if err != nil {
			return nil, err
		}
		*p.to = strings.TrimSuffix(strings.TrimPrefix(address, "http://"), "/mcp")
	}
	return w, nil
}

// writeConfig names both upstreams and 200 rules, none of which settles a call early.
func (w *world) writeConfig() error {
	rules := func(list string, n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("mcp.%s%d.tool_*", list, i))
		}
		return all
	}
	c, err := json.MarshalIndent(map[string]any{
		"mcpServers": map[string]any{
			"stdio": map[string]any{"command": w.self, "args": []string{"upstream-stdio"}},
			"http":  map[string]any{"url": w.upstreamURL},
		},
		"flows":       map[string]any{"labels": map[string]any{"mcp.*": []string{"untrusted"}}}, // one client calls both servers
		"permissions": map[string]any{"deny": rules("d", 70), "ask": rules("q", 60), "allow": append(rules("a", 69), "mcp.*.echo")},
	}, "", "  ")
	if err != nil {
		return err
	}
	w.config = filepath.Join(w.dir, "mcp.config.json")
	return os.WriteFile(w.config, c, 0o600)
}

// start runs a part of this program and returns the address that it prints.
func (w *world) start(args ...string) (string, error) {
	cmd := exec.Command(w.self, args...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // none outlives a run that is broken off
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	w.children = append(w.children, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s did not come up: %w", args[0], err)
	}
	return strings.TrimSpace(line), nil
}

func (w *world) close() {
	for _, c := range w.children {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	}
	if w.dir != "" {
		_ = os.RemoveAll(w.dir)
	}
}

func listen() (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		fmt.Println("http://" + l.Addr().String() + "/mcp")
	}
	return l, err
}

func floorStdio() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	l, err := listen()
	if err != nil {
		return err
	}
	return floor.ServeStdio(context.Background(), l, exec.Command(self, "upstream-stdio"))
}

func floorHTTP(upstream string) error {
	u, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	l, err := listen()
	if err != nil {
		return err
	}
	return floor.ServeHTTP(context.Background(), l, u)
}

// openHost opens a host as `usher serve` does, with its data in dir.
func openHost(ctx context.Context, dir string) (*standard.Host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	h, err := standard.Open(ctx, standard.Options{
		ConfigPath: filepath.Join(dir, "mcp.config.json"), DataDir: filepath.Join(dir, fmt.Sprint("data", os.Getpid())), Dir: dir,
		Watchdog: []string{self, "__watchdog"},
	})
	if err != nil {
		return nil, err
	}
	h.Ready(ctx)
	return h, nil
}

func gatewayChild(dir string) error {
	h, err := openHost(context.Background(), dir)
	if err != nil {
		return err
	}
	defer h.Close()
	l, err := listen()
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	notifyInterrupt(stop)
	server := gatewayServer(h)
	go func() {
		<-stop
		_ = server.Close()
	}()
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func gatewayServer(h *standard.Host) *http.Server {
	g := gateway.New(h.Host, gateway.Options{})
	server := &http.Server{Handler: g.HTTP()}
	g.Attach(server)
	return server
}

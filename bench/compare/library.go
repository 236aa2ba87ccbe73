package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/bench/internal/turns"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/local"
)

// builtinTool is row 2: a built-in tool through the whole path, against a direct call of its handler; and the local
// transport alone.
func builtinTool(w *world) error {
	return w.withSession(builtinToolOf)
}

// withSession opens a host in this process for f.
func (w *world) withSession(f func(context.Context, *usher.Session) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h, err := openHost(ctx, w.dir)
	if err != nil {
		return err
	}
	defer h.Close()
	s, err := h.Session(usher.SessionOptions{Client: "bench"})
	if err != nil {
		return err
	}
	return f(ctx, s)
}

func builtinToolOf(ctx context.Context, s *usher.Session) error {
	handler := mcp.HandlerFunc(func(_ context.Context, req *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		return mcp.Answer(req.ID, json.RawMessage(callResult)), nil
	})
	conn, err := local.New(handler).Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	carried := conn.(mcp.Handler)
	if err := localTransport(ctx, carried, handler); err != nil {
		return err
	}
	args := json.RawMessage(`{"path":"mcp.config.json","limit":1}`)
	d, err := turns.Latency(func() error {
		r, err := s.Call(ctx, "local.read_file", args)
		if err == nil && r.IsError {
			err = fmt.Errorf("read_file: %s", r.Text())
		}
		return err
	}, 5000)
	if err != nil {
		return err
	}
	row("built-in read_file through the whole path, p50", us(float64(d)), "", "", "≤ 30 µs")
	return nil
}

func localTransport(ctx context.Context, carried, direct mcp.Handler) error {
	const n = 100_000
	req := mcp.Request("1", mcp.MethodCallTool, json.RawMessage(`{"name":"x"}`))
	loop := func(h mcp.Handler) func() (float64, error) {
		return func() (float64, error) {
			begun := time.Now()
			for range n {
				if _, err := h.Handle(ctx, req, mcp.Nobody); err != nil {
					return 0, err
				}
			}
			return float64(time.Since(begun)) / n, nil
		}
	}
	a, b, _, err := turns.Interleave(loop(carried), loop(direct))
	if err != nil {
		return err
	}
	row("local transport, a call", fmt.Sprintf("%.0f ns", a), fmt.Sprintf("%.0f ns", b), fmt.Sprintf("+%.0f ns", a-b), "< 1000 ns")
	return nil
}

// stdioPath is row 3: a stdio server through the whole path, against the same bytes over a raw pipe.
func stdioPath(w *world) error {
	return w.withSession(func(ctx context.Context, s *usher.Session) error { return stdioPathOf(ctx, s, w.self) })
}

func stdioPathOf(ctx context.Context, s *usher.Session, self string) error {
	pipe, stop, err := rawPipe(self)
	if err != nil {
		return err
	}
	defer stop()
	args := json.RawMessage(`{"text":"hello, this is a small argument"}`)
	a, b, _, err := turns.Interleave(
		func() (float64, error) {
			d, err := turns.Latency(func() error { _, err := s.Call(ctx, "mcp.stdio.echo", args); return err }, 1500)
			return float64(d), err
		},
		func() (float64, error) {
			d, err := turns.Latency(pipe, 1500)
			return float64(d), err
		})
	if err != nil {
		return err
	}
	row("stdio server through the whole path, p50", us(a), us(b), "+"+us(a-b), "≤ +30 µs")
	return nil
}

// rawPipe starts the same server and returns a function that sends one call to it and reads the answer.
func rawPipe(self string) (call func() error, stop func(), err error) {
	cmd := exec.Command(self, "upstream-stdio")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	r := bufio.NewReaderSize(out, 64<<10)
	line := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello, this is a small argument"}}}` + "\n")
	call = func() error {
		if _, err := in.Write(line); err != nil {
			return err
		}
		_, err := r.ReadSlice('\n')
		return err
	}
	return call, func() { _ = in.Close(); _, _ = io.Copy(io.Discard, r); _ = cmd.Wait() }, nil
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os/exec"

	"github.com/coder/websocket"
	gogrpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
)

func rawPipe(_ context.Context, w *world, size int) (trip, func(), error) {
	cmd := exec.Command(w.self, "pipe-raw")
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
	r, line := bufio.NewReaderSize(out, maxLine), append(request(size), '\n')
	call := func() error {
		if _, err := in.Write(line); err != nil {
			return err
		}
		answer, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		return check(answer, size)
	}
	return call, func() { _ = in.Close(); _, _ = io.Copy(io.Discard, r); _ = cmd.Wait() }, nil
}

// post sends body and returns what came.
func post(client *http.Client, url string, body []byte) ([]byte, error) {
	res, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

func rawHTTP(path string) way {
	return func(_ context.Context, w *world, size int) (trip, func(), error) {
		pool := new(http.Transport)
		client, url, body := &http.Client{Transport: pool}, "http://"+w.at[httpServer]+path, request(size)
		return func() error {
			answer, err := post(client, url, body)
			if err != nil {
				return err
			}
			return check(answer, size)
		}, pool.CloseIdleConnections, nil
	}
}

func rawSSE(ctx context.Context, w *world, size int) (trip, func(), error) {
	pool := new(http.Transport)
	client, host, body := &http.Client{Transport: pool}, "http://"+w.at[httpServer], request(size)
	ctx, cancel := context.WithCancel(ctx)
	end := func() { cancel(); pool.CloseIdleConnections() }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/raw-sse", nil)
	if err != nil {
		return nil, end, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, end, err
	}
	r := bufio.NewReaderSize(res.Body, maxLine)
	event := func() (data []byte, err error) {
		for {
			line, err := r.ReadSlice('\n')
			if err != nil || len(line) == 1 {
				return data, err
			}
			if rest, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				data = append(data, rest...)
			}
		}
	}
	endpoint, err := event()
	if err != nil {
		return nil, end, err
	}
	url := host + string(bytes.TrimSpace(endpoint))
	return func() error {
		if _, err := post(client, url, body); err != nil {
			return err
		}
		answer, err := event()
		if err != nil {
			return err
		}
		return check(answer, size)
	}, end, nil
}

func rawWS(ctx context.Context, w *world, size int) (trip, func(), error) {
	c, _, err := websocket.Dial(ctx, "ws://"+w.at[httpServer]+"/raw-ws", &websocket.DialOptions{Subprotocols: []string{"mcp"}})
	if err != nil {
		return nil, nil, err
	}
	c.SetReadLimit(maxLine)
	body := request(size)
	return func() error {
		if err := c.Write(ctx, websocket.MessageText, body); err != nil {
			return err
		}
		_, answer, err := c.Read(ctx)
		if err != nil {
			return err
		}
		return check(answer, size)
	}, func() { _ = c.CloseNow() }, nil
}

func rawGRPC(ctx context.Context, w *world, size int) (trip, func(), error) {
	cc, err := gogrpc.NewClient("passthrough:///"+w.at[rawServer], gogrpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	end := func() { _ = cc.Close() }
	stream, err := mcpv1.NewMcpClient(cc).Session(ctx)
	if err != nil {
		return nil, end, err
	}
	f := &mcpv1.Frame{Json: request(size)}
	return func() error {
		if err := stream.Send(f); err != nil {
			return err
		}
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		return check(answer.Json, size)
	}, end, nil
}

func directCall(ctx context.Context, _ *world, size int) (trip, func(), error) {
	req := mcp.Request("7", mcp.MethodCallTool, params(size))
	return func() error {
		_, err := echo(ctx, req, mcp.Nobody)
		return err
	}, func() {}, nil
}

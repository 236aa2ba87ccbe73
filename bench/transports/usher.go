package main

import (
	"context"
	"errors"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc"
	"github.com/usher-mcp/usher/transport/http"
	"github.com/usher-mcp/usher/transport/local"
	"github.com/usher-mcp/usher/transport/sse"
	"github.com/usher-mcp/usher/transport/stdio"
	"github.com/usher-mcp/usher/transport/ws"
)

func usherStdio(part string) way {
	return func(ctx context.Context, w *world, size int) (trip, func(), error) {
		return over(ctx, stdio.New(stdio.Options{Command: w.self, Args: []string{part}}), nil, size)
	}
}

func usherHTTP(path string) way {
	return func(ctx context.Context, w *world, size int) (trip, func(), error) {
		tr, err := http.New(http.Options{URL: "http://" + w.at[httpServer] + path})
		return over(ctx, tr, err, size)
	}
}

func usherSSE(path string) way {
	return func(ctx context.Context, w *world, size int) (trip, func(), error) {
		tr, err := sse.New(sse.Options{URL: "http://" + w.at[httpServer] + path})
		return over(ctx, tr, err, size)
	}
}

func usherWS(path string) way {
	return func(ctx context.Context, w *world, size int) (trip, func(), error) {
		tr, err := ws.New(ws.Options{URL: "ws://" + w.at[httpServer] + path})
		return over(ctx, tr, err, size)
	}
}

func usherGRPC(server int) way {
	return func(ctx context.Context, w *world, size int) (trip, func(), error) {
		tr, err := grpc.New(grpc.Options{URL: "grpc://" + w.at[server]})
		return over(ctx, tr, err, size)
	}
}

func usherLocal(ctx context.Context, _ *world, size int) (trip, func(), error) {
	return over(ctx, local.New(echo), nil, size)
}

var errBroken = errors.New("the answer isn't that of the request")

// over opens a connection of tr, whose error is err.
func over(ctx context.Context, tr transport.Transport, err error, size int) (trip, func(), error) {
	if err != nil {
		return nil, nil, err
	}
	conn, err := tr.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	req := mcp.Request("7", mcp.MethodCallTool, params(size))
	exchange := func() (*mcp.Message, error) {
		if err := conn.Send(ctx, req); err != nil {
			return nil, err
		}
		return conn.Receive(ctx)
	}
	if h, ok := conn.(mcp.Handler); ok {
		exchange = func() (*mcp.Message, error) { return h.Handle(ctx, req, mcp.Nobody) }
	}
	return func() error {
		m, err := exchange()
		if err == nil && (m.ID != req.ID || len(m.Result) < size) {
			err = errBroken
		}
		return err
	}, func() { _ = conn.Close() }, nil
}

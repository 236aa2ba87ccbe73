package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/coder/websocket"
	gogrpc "google.golang.org/grpc"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/grpc"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
	"github.com/usher-mcp/usher/transport/sse"
	"github.com/usher-mcp/usher/transport/stdio"
	"github.com/usher-mcp/usher/transport/ws"
)

// world is the process with the servers.
type world struct {
	self  string
	child *exec.Cmd
	at    [3]string // addresses: of HTTP, of the two gRPC servers
}

// Places in world.at.
const (
	httpServer = iota
	rawServer
	usherServer
)

func newWorld() (*world, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &world{self: self, child: exec.Command(self, "servers")}
	w.child.Stderr = os.Stderr
	w.child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := w.child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.child.Start(); err != nil {
		return nil, err
	}
	for r, i := bufio.NewReader(out), 0; i < len(w.at); i++ {
		l, err := r.ReadString('\n')
		if err != nil {
			w.close()
			return nil, fmt.Errorf("the servers did not come up: %w", err)
		}
		w.at[i] = strings.TrimSpace(l)
	}
	return w, nil
}

func (w *world) close() {
	_ = w.child.Process.Signal(syscall.SIGTERM)
	_ = w.child.Wait()
}

// serveAll runs until it is killed.
func serveAll() error {
	mux := http.NewServeMux()
	mux.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(rawAnswer(body))
	})
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(appendEvent(nil, rawAnswer(body)))
	})
	raw := new(rawStreams)
	mux.HandleFunc("GET /raw-sse", raw.get)
	mux.HandleFunc("POST /raw-sse", raw.post)
	mux.HandleFunc("/raw-ws", serveRawWS)
	mux.Handle("/sse", sse.NewServer(sse.ServerOptions{Handler: echo}))
	mux.Handle("/ws", ws.NewServer(ws.ServerOptions{
		Open: func(context.Context, *http.Request) (mcp.Handler, func()) { return echo, nil },
	}))
	failed := make(chan error, 3)
	rawGRPC := gogrpc.NewServer()
	mcpv1.RegisterMcpServer(rawGRPC, rawService{})
	usherGRPC := grpc.NewServer(grpc.ServerOptions{
		Open: func(context.Context, grpc.Client) (mcp.Handler, func(), error) { return echo, nil, nil },
	})
	for _, serve := range []func(net.Listener) error{
		func(l net.Listener) error { return http.Serve(l, mux) }, rawGRPC.Serve, usherGRPC.Serve,
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		go func() { failed <- serve(l) }()
	}
	return <-failed
}

func appendEvent(b, message []byte) []byte {
	return append(append(append(b, "event: message\ndata: "...), message...), "\n\n"...)
}

// rawStreams is the floor's server of HTTP+SSE.
type rawStreams struct {
	last atomic.Int64
	open sync.Map // by number: chan []byte
}

func (s *rawStreams) get(w http.ResponseWriter, r *http.Request) {
	number, answers := fmt.Sprint(s.last.Add(1)), make(chan []byte, 1)
	s.open.Store(number, answers)
	defer s.open.Delete(number)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "event: endpoint\ndata: /raw-sse?n="+number+"\n\n")
	out := http.NewResponseController(w)
	_ = out.Flush()
	for {
		select {
		case a := <-answers:
			_, _ = w.Write(appendEvent(nil, a))
			_ = out.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (s *rawStreams) post(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.WriteHeader(http.StatusAccepted)
	if c, ok := s.open.Load(r.URL.Query().Get("n")); ok {
		c.(chan []byte) <- rawAnswer(body)
	}
}

func serveRawWS(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"mcp"}})
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(maxLine)
	for {
		kind, m, err := c.Read(r.Context())
		if err != nil || c.Write(r.Context(), kind, rawAnswer(m)) != nil {
			return
		}
	}
}

type rawService struct{ mcpv1.UnimplementedMcpServer }

func (rawService) Session(s mcpv1.Mcp_SessionServer) error {
	if err := s.SendHeader(nil); err != nil {
		return err
	}
	for {
		f, err := s.Recv()
		if err != nil {
			return nil // the client is gone
		}
		if err := s.Send(&mcpv1.Frame{Json: rawAnswer(f.Json)}); err != nil {
			return err
		}
	}
}

func usherPipe() error { return stdio.Serve(context.Background(), os.Stdin, os.Stdout, echo) }

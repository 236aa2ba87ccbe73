package gosdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/gosdk"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

type echoIn struct {
	Text string `json:"text" jsonschema:"what to say again"`
}

type slow struct{ started, ended chan struct{} }

// newServer is a server as a user of the SDK writes it.
func newServer(s slow) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, &sdk.ServerOptions{KeepAlive: time.Hour, Instructions: "Be brief."})
	sdk.AddTool(server, &sdk.Tool{Name: "echo", Description: "says it again"}, func(_ context.Context, _ *sdk.CallToolRequest, in echoIn) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "echo: " + in.Text}}}, nil, nil
	})
	add := func(name string, f sdk.ToolHandler) {
		server.AddTool(&sdk.Tool{Name: name, InputSchema: &jsonschema.Schema{Type: "object"}}, f)
	}
	add("raw", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(req.Params.Arguments)}}}, nil
	})
	add("steps", func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for i := range 3 {
			p := &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i), Total: 3}
			if err := req.Session.NotifyProgress(ctx, p); err != nil {
				return nil, err
			}
		}
		return &sdk.CallToolResult{}, nil
	})
	add("slow", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		s.started <- struct{}{}
		<-ctx.Done()
		s.ended <- struct{}{}
		return nil, ctx.Err()
	})
	add("panic", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { panic("inner detail") })
	add("grow", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add("grown", nil)
		return &sdk.CallToolResult{}, nil
	})
	add("ask", func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		err := req.Session.Ping(ctx, nil)
		return &sdk.CallToolResult{}, err
	})
	return server
}

func newSlow() slow { return slow{make(chan struct{}, 1), make(chan struct{}, 1)} }

func connect(t *testing.T, server *sdk.Server, o client.Options) *client.Session {
	t.Helper()
	s, err := client.Connect(t.Context(), gosdk.Transport(server), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func call(t *testing.T, s *client.Session, p mcp.Peer, tool, args string) *mcp.Message {
	t.Helper()
	m, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, json.RawMessage(`{"name":"`+tool+`","arguments":`+args+`}`)), p)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return m
}

// inBothEras runs a test with a modern and a legacy session to a server of its own.
func inBothEras(t *testing.T, test func(t *testing.T, s *client.Session, w slow)) {
	for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
		t.Run(era.String(), func(t *testing.T) {
			w := newSlow()
			s := connect(t, newServer(w), client.Options{Era: era})
			if got := s.Info().Era; got != era {
				t.Fatalf("the session is %v", got)
			}
			test(t, s, w)
		})
	}
}

// A3: a server written with the SDK is one more way to a server.
func TestListAndCall(t *testing.T) {
	inBothEras(t, func(t *testing.T, s *client.Session, _ slow) {
		if got := s.Info().Instructions; got != "Be brief." {
			t.Errorf("its instructions are %q", got)
		}
		tools, err := s.Tools(t.Context())
		if err != nil || len(tools) != 7 {
			t.Fatalf("%d tools, %v", len(tools), err)
		}
		if m := call(t, s, nil, "echo", `{"text":"hi"}`); !strings.Contains(string(m.Result), `"echo: hi"`) {
			t.Errorf("got %s", m.Result)
		}
		// The SDK keeps the bytes of arguments that it isn't asked to decode.
		const in = `{"a":1.0,"b":9007199254740993,"c":"\u002F", "z":[null]}`
		m := call(t, s, nil, "raw", in)
		var out struct{ Content []struct{ Text string } }
		if err := json.Unmarshal(m.Result, &out); err != nil || len(out.Content) != 1 || out.Content[0].Text != in {
			t.Errorf("the tool got %s", m.Result)
		}
		if m := call(t, s, nil, "nothing", `{}`); m.Error == nil {
			t.Errorf("a tool that isn't there answered %s", m.Result)
		}
	})
}

type listener struct {
	mcp.Peer
	heard chan *mcp.Message
}

func (l listener) Notify(_ context.Context, m *mcp.Message) { l.heard <- m }

func TestProgress(t *testing.T) {
	inBothEras(t, func(t *testing.T, s *client.Session, _ slow) {
		l := listener{mcp.Nobody, make(chan *mcp.Message, 10)}
		req := mcp.Request("1", mcp.MethodCallTool, json.RawMessage(`{"name":"steps","arguments":{},"_meta":{"progressToken":"mine"}}`))
		if m, err := s.Handle(t.Context(), req, l); err != nil || m.Error != nil {
			t.Fatalf("got %+v, %v", m, err)
		}
		if len(l.heard) != 3 { // all of it came before the answer
			t.Fatalf("heard %d", len(l.heard))
		}
		for _, want := range []string{"0", "1", "2"} {
			m := <-l.heard
			if got := string(mcp.Member(m.Params, "progress")); got != want || string(mcp.Member(m.Params, "progressToken")) != `"mine"` {
				t.Errorf("heard %s, want progress %s", m.Params, want)
			}
		}
	})
}

func TestCancellation(t *testing.T) {
	inBothEras(t, func(t *testing.T, s *client.Session, w slow) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-w.started
			cancel()
		}()
		_, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, json.RawMessage(`{"name":"slow","arguments":{}}`)), nil)
		if fault.KindOf(err) != fault.Cancelled {
			t.Errorf("got %v", err)
		}
		<-w.ended // the tool was told
		call(t, s, nil, "echo", `{"text":"on"}`)
	})
}

func TestListChanged(t *testing.T) {
	told := make(chan string, 10)
	s := connect(t, newServer(newSlow()), client.Options{Era: mcp.Legacy, OnNotify: func(m *mcp.Message) { told <- m.Method }})
	call(t, s, nil, "grow", `{}`)
	if got := <-told; got != mcp.NotifyTools {
		t.Errorf("told %s", got)
	}
	if tools, err := s.Tools(t.Context()); err != nil || len(tools) != 8 {
		t.Errorf("%d tools, %v", len(tools), err)
	}
}

// What the server asks on the way is answered.
func TestServerAsks(t *testing.T) {
	s := connect(t, newServer(newSlow()), client.Options{Era: mcp.Legacy})
	if m := call(t, s, nil, "ask", `{}`); m.Error != nil || strings.Contains(string(m.Result), `"isError":true`) {
		t.Errorf("got %s %s", m.Result, m.Error)
	}
}

// A5: a panic is one failed call; the agent doesn't read its value, the operator does.
func TestPanic(t *testing.T) {
	inBothEras(t, func(t *testing.T, s *client.Session, _ slow) {
		m := call(t, s, nil, "panic", `{}`)
		if m.Error == nil || strings.Contains(string(m.Error), "inner detail") {
			t.Errorf("got %s %s", m.Result, m.Error)
		}
		if text := s.Describe().Stderr; !strings.Contains(text, "inner detail") || !strings.Contains(text, "sdk_test.go") {
			t.Errorf("the operator would read %q", text)
		}
		call(t, s, nil, "echo", `{"text":"on"}`)
	})
}

// B6: closing ends the calls that run, and the server's session.
func TestCloseDuringCall(t *testing.T) {
	inBothEras(t, func(t *testing.T, s *client.Session, w slow) {
		failed := make(chan error, 1)
		go func() {
			_, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, json.RawMessage(`{"name":"slow","arguments":{}}`)), nil)
			failed <- err
		}()
		<-w.started
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-w.ended
		if err := <-failed; err == nil {
			t.Error("the call succeeded")
		}
	})
}

// Sessions share tools and nothing else; the server ends one by itself.
func TestSessions(t *testing.T) {
	server := newServer(newSlow())
	tr := gosdk.Transport(server)
	var conns []transport.Conn
	for range 2 {
		c, err := tr.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
	}
	first := true
	for s := range server.Sessions() {
		if first {
			first = false
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	ended, ctx := 0, t.Context()
	for _, c := range conns {
		if err := c.Send(ctx, mcp.Request("1", mcp.MethodPing, nil)); errors.Is(err, transport.ErrNotSent) {
			ended++
			if _, err := c.Receive(ctx); err != io.EOF {
				t.Errorf("Receive ended with %v", err)
			}
		} else if m, err := c.Receive(ctx); err != nil || m.ID != "1" {
			t.Errorf("ping was answered with %+v, %v", m, err)
		}
	}
	if ended != 1 {
		t.Errorf("%d of 2 connections ended with their session", ended)
	}
}

func TestConnectContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, err := gosdk.Transport(newServer(newSlow())).Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel() // bounds the opening only
	if err := c.Send(t.Context(), mcp.Request("1", mcp.MethodPing, nil)); err != nil {
		t.Error(err)
	}
	if m, err := c.Receive(t.Context()); err != nil || m.ID != "1" {
		t.Errorf("got %+v, %v", m, err)
	}
	if _, err := gosdk.Transport(newServer(newSlow())).Connect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

func BenchmarkCall(b *testing.B) {
	s, err := client.Connect(b.Context(), gosdk.Transport(newServer(newSlow())), client.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	req := mcp.Request("1", mcp.MethodCallTool, json.RawMessage(`{"name":"raw","arguments":{"text":"hi"}}`))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Handle(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}

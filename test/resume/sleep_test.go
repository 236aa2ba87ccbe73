package resume

import (
	"context"
	"io"
	"log"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/internal/wake"
	transporthttp "github.com/usher-mcp/usher/transport/http"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// C5: a laptop sleeps for an hour with its lid closed, and the network has forgotten all its connections without a word:
// the next call finds the server all the same, in the time that it takes to find out that the old connection is dead.
// Not in fake time: the kernel is asked about the network.
func TestSleepsAnHour(t *testing.T) {
	network := transporttest.NewFaultNet()
	server := sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, &sdk.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	sdk.AddTool(server, &sdk.Tool{Name: "hello", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello"}}}, nil, nil
		})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Logger: slog.New(slog.DiscardHandler)})
	listener := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan error, 1)
	go func() { served <- listener.Serve(network) }()
	way := &http.Transport{DialContext: network.Dial}
	tr, err := transporthttp.New(transporthttp.Options{URL: "http://192.0.2.1/mcp", Client: &http.Client{Transport: way}})
	if err != nil {
		t.Fatal(err)
	}
	var slept atomic.Int64
	clock := wake.New(t.Context(), wake.Options{Wall: func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }})
	events := new(eventtest.Log)
	h, err := usher.Open(t.Context(), usher.Options{
		Log: events, HostSession: "s_host", Woke: clock.Count,
		Servers: []usher.Server{{Name: "far", Transport: tr, Kind: "http", TrustHints: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Ready(t.Context())
	s, err := h.Session(usher.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"before", "after an hour", "later"} {
		if r, err := s.Call(t.Context(), "mcp.far.hello", nil); err != nil || r.Text() != "hello" {
			t.Errorf("%s: %+v, %v", when, r, err)
		}
		if when == "before" {
			network.Break(transporttest.Hang)
			slept.Store(int64(time.Hour))
		}
	}
	if n := strings.Count(strings.Join(events.Types("s_host"), " "), "mcp.server.disconnected"); n != 1 {
		t.Errorf("%d times disconnected", n)
	}
	_ = h.Close()
	clock.Close()
	way.CloseIdleConnections()
	for s := range server.Sessions() {
		_ = s.Close()
	}
	network.Break(transporttest.Reset)
	_ = listener.Close()
	<-served
}

package gosdk_test

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/gosdk"
)

func Example() {
	type input struct {
		Name string `json:"name"`
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "hello", Version: "1"}, nil)
	tool := &sdk.Tool{Name: "greet", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}
	sdk.AddTool(server, tool, func(_ context.Context, _ *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
	})

	ctx := context.Background()
	host, err := usher.Open(ctx, usher.Options{
		Servers: []usher.Server{{Name: "hello", Transport: gosdk.Transport(server), Kind: "local", TrustHints: true}},
		Log:     new(eventtest.Log),
	})
	if err != nil {
		panic(err)
	}
	defer host.Close()
	session, err := host.Session(usher.SessionOptions{Client: "example"})
	if err != nil {
		panic(err)
	}
	result, err := session.Call(ctx, "mcp.hello.greet", []byte(`{"name":"world"}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Text())
	// Output: Hello, world
}

package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/stdio"
)

// oddTools are what doctor has something to say about.
const oddTools = `{"name":"fine","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}},
{"name":"any","inputSchema":{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}},
{"name":"refers","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://schemas.example/a.json"}}},"outputSchema":{"$ref":"https://schemas.example/b.json"}},
{"name":"fine","inputSchema":{"type":"object"}},
{"name":"all*","inputSchema":{"type":"object"}}`

// oddServer is a legacy server over stdio with tools that not all can be used as they are.
func oddServer() {
	fmt.Fprintln(os.Stderr, "odd: 5 tools")
	if err := stdio.Serve(context.Background(), os.Stdin, os.Stdout, mcp.HandlerFunc(beOdd)); err != nil {
		os.Exit(1)
	}
}

func beOdd(_ context.Context, req *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	switch req.Method {
	case mcp.MethodInitialize:
		return mcp.Answer(req.ID, []byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"prompts":{}},"serverInfo":{"name":"odd\u001b[31m","version":"2"}}`)), nil
	case mcp.MethodListTools:
		return mcp.Answer(req.ID, []byte(`{"tools":[`+oddTools+`]}`)), nil
	}
	return mcp.ErrorAnswer(req.ID, mcp.CodeMethodNotFound, "no method "+req.Method, nil), nil
}

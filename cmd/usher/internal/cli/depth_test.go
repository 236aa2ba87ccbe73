package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
)

// G4: a server that has a secret from us can't make doctor print it by what its schemas say.
func TestDepthIsRedacted(t *testing.T) {
	x := examiner{redact: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter2"), []byte("•••")) }, stray: func(string) (int, string) { return 0, "" }}
	tool := usher.Tool{Name: "mcp.s.t", Server: "s", Definition: json.RawMessage(
		`{"name":"t","inputSchema":{"type":"object","anyOf":[{"properties":{"hunter2 x":{"$ref":"#/hunter2"}}}]},"outputSchema":{"$ref":"#/$defs/hunter2"}}`)}
	h := new(app).deepHealthOf(x, config.Server{Name: "s", Transport: config.TransportHTTP, URL: "http://127.0.0.1:1/mcp"}, usher.ServerStatus{Name: "s", Kind: "http", State: "up"}, []usher.Tool{tool})
	b, err := json.Marshal(h.Depth)
	if err != nil || len(h.Depth.Schemas) != 1 || strings.Contains(string(b), "hunter2") || !strings.Contains(string(b), "•••") {
		t.Errorf("%v %s", err, b)
	}
}

package faithful

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/internal/gateway"
	"github.com/usher-mcp/usher/permission"
)

// O2: through the gateway, from the agent's socket to the server's and back, in each pair of eras.
func TestGateway(t *testing.T) {
	agents := map[string]func(testing.TB, *gateway.Gateway, bool) agent{
		"http json":   func(t testing.TB, g *gateway.Gateway, modern bool) agent { return newHTTPAgent(t, g, modern, false) },
		"http events": func(t testing.TB, g *gateway.Gateway, modern bool) agent { return newHTTPAgent(t, g, modern, true) },
		"stdio":       newStdioAgent,
	}
	for _, w := range ways()[:3] { // stdio and HTTP; the others differ in their framing, which TestClient holds
		for from, open := range agents {
			for _, era := range []string{"legacy to legacy", "legacy to modern", "modern to legacy", "modern to modern"} {
				t.Run(from+" to "+w.name+"/"+era, func(t *testing.T) {
					testGateway(t, w, open, strings.HasPrefix(era, "modern"), strings.HasSuffix(era, "modern"))
				})
			}
		}
	}
}

func testGateway(t *testing.T, way way, open func(testing.TB, *gateway.Gateway, bool) agent, modernAgent, modernServer bool) {
	w := newWorld(t, 15, setting{tool: `"mcp__up__t"`, modernAgent: modernAgent, ownTokens: true})
	server := w.script(t, modernServer, way.carry)
	a := open(t, newGateway(t, way, server), modernAgent)
	w.each(func(it *item) {
		id := it.token // so that what an agent on stdio is told finds its call
		if id == "" {
			id = fmt.Sprintf(`"\u0069%d"`, it.index)
		}
		lines, err := a.call(it, id, fmt.Sprintf(`{"id":%s, "method" : "tools/call","params":%s,"jsonrpc":"2.0"}`, id, it.params))
		if err != nil {
			t.Errorf("call %d failed: %v", it.index, err)
			return
		}
		fail(t, it, checkParams(asSent(it.params), server.params(it.index), modernServer))
		checkLines(t, it, way, lines, id, modernAgent)
	})
}

// asSent are the params with the server's own name for the tool.
func asSent(params string) string {
	params = oneLine(params)
	all, _ := members(params)
	name := find(all, "name")
	return params[:name.from] + `"t"` + params[name.until:]
}

// checkLines looks at what the agent read.
func checkLines(t *testing.T, it *item, way way, lines []string, id string, modernAgent bool) {
	carried := func(s string) string { return oneLine(way.carry(s)) }
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &m); err != nil || string(m["id"]) != id || len(m) != 3 {
		t.Errorf("call %d was answered with %.200q: %v", it.index, lines, err)
		return
	}
	fail(t, it, differ("error", carried(it.failure), string(m["error"])))
	switch {
	case it.result == "" || !modernAgent:
		fail(t, it, differ("result", carried(it.result), string(m["result"])))
	default:
		fail(t, it, checkCompleted(carried(it.result), string(m["result"])))
	}
	told := lines[:len(lines)-1]
	if want := it.token != "" && !way.tellsNone; want && len(told) == 1 {
		_ = json.Unmarshal([]byte(told[0]), &m)
		fail(t, it, differ("progress", carried(it.told(it.token)), string(m["params"])))
	} else if want || len(told) > 0 {
		t.Errorf("call %d was told %q, its token is %s", it.index, told, it.token)
	}
}

func newGateway(t *testing.T, way way, server *script) *gateway.Gateway {
	t.Helper()
	tr, err := way.open(t, server)
	if err != nil {
		t.Fatal(err)
	}
	policy := &permission.Policy{Allow: []permission.Rule{{Pattern: "mcp.up.*"}}}
	h, err := usher.Open(context.Background(), usher.Options{
		Servers: []usher.Server{{Name: "up", Transport: tr, Kind: way.name}}, Log: new(eventtest.Log),
		Policy: func() *permission.Policy { return policy },
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Ready(t.Context())
	g := gateway.New(h, gateway.Options{})
	t.Cleanup(func() {
		g.Close()
		_ = h.Close()
	})
	return g
}

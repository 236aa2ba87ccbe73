package client

import (
	"errors"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// A4: what nobody asked for changes nothing.
func TestStrays(t *testing.T) {
	s := connect(t, newMemory(t, modernServer(func(w *wire, m *mcp.Message) {
		if m.IsAnswer() {
			t.Errorf("a modern server got an answer: %s %s", m.ID, m.Error)
			return
		}
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","id":"ID","result":{}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`,
			`{"jsonrpc":"2.0","id":9223372036854775808,"result":{}}`,
			`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`,
			`{"jsonrpc":"2.0","id":77,"result":{"a":1,"a":2}}`,
			`{"jsonrpc":"2.0","id":ID,"result":{"n":1}}`, `{"jsonrpc":"2.0","id":ID,"result":{"n":2}}`,
		} {
			w.say(m, line)
		}
	})), Options{})
	for i := range 2 {
		if m := callTool(t, s, `{}`, nil); string(m.Result) != `{"n":1}` {
			t.Errorf("call %d: %s", i, m.Result)
		}
	}
	if s.Strays() < 13 { // the last of the second call may not be read yet
		t.Errorf("%d strays", s.Strays())
	}
}

func TestUnreadableAnswerFailsItsCall(t *testing.T) {
	for name, c := range map[string]struct {
		reason error
		kind   fault.Kind
	}{
		"duplicate key": {errors.New(`duplicate key "a"`), fault.Protocol},
		"too long":      {fault.New(fault.TooLarge, "longer than 16 MiB"), fault.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			first := true
			s := connect(t, newMemory(t, legacyServer(func(w *wire, m *mcp.Message) {
				if first {
					first = false
					w.put(&transport.Broken{Message: &mcp.Message{ID: m.ID}, Reason: c.reason})
					return
				}
				w.say(m, discoverLine(`{}`))
			})), Options{})
			_, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, nil), nil)
			wantKind(t, err, c.kind)
			callTool(t, s, `{}`, nil) // the connection goes on
		})
	}
}

func TestResultTypes(t *testing.T) {
	for result, want := range map[string]fault.Kind{
		`{"resultType":"complete","x":1}`:    "",
		`{"resultType":"\u0063omplete"}`:     "",
		`{"x":1}`:                            "",
		`{"resultType":"task","taskId":"t"}`: fault.Protocol, // not an empty result
		`{"resultType":7}`:                   fault.Protocol,
		`{"resultType":null}`:                fault.Protocol,
		`[]`:                                 fault.Protocol,
		`{"resultType":"input_required"}`:    fault.Protocol,
		`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`: fault.ServerError,
		`{"inputRequests":{},"resultType":"\u0000"}`:                                    fault.Protocol,
	} {
		answer := func(w *wire, m *mcp.Message) { w.say(m, discoverLine(result)) }
		s := connect(t, newMemory(t, modernServer(answer)), Options{})
		m, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, nil), nil)
		if want != "" {
			wantKind(t, err, want)
		} else if err != nil || string(m.Result) != result {
			t.Errorf("%s came as %v, %v", result, m, err)
		}
		// A legacy result is nobody's business here.
		if m := callTool(t, connect(t, newMemory(t, legacyServer(answer)), Options{}), `{}`, nil); string(m.Result) != result {
			t.Errorf("%s came as %s", result, m.Result)
		}
	}
}

// A JSON-RPC error is an answer and keeps its bytes.
func TestErrorsPass(t *testing.T) {
	s := connect(t, newMemory(t, modernServer(func(w *wire, m *mcp.Message) {
		w.say(m, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no","data":[1.0]}}`)
	})), Options{})
	if m := callTool(t, s, `{}`, nil); string(m.Error) != `{"code":-32602,"message":"no","data":[1.0]}` {
		t.Errorf("got %s", m.Error)
	}
}

// A shared connection declared nothing, so its server may ask nothing but ping.
func TestServerAsks(t *testing.T) {
	answers := make(chan string, 4)
	s := connect(t, newMemory(t, legacyServer(func(w *wire, m *mcp.Message) {
		if m.IsAnswer() {
			answers <- string(m.ID) + " " + string(m.Result) + string(m.Error)
			return
		}
		w.say(nil, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		w.say(nil, `{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}}`)
		w.say(nil, `{"jsonrpc":"2.0","id":3,"method":"roots/list","params":{"a":1,"a":2}}`)
		w.say(m, discoverLine(`{}`))
	})), Options{})
	callTool(t, s, `{}`, nil)
	for _, want := range []string{`"p" {}`, `2 {"code":-32601,`, `3 {"code":-32600,`} {
		if got := <-answers; !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s…", got, want)
		}
	}
}

func TestNotificationsOfNoCall(t *testing.T) {
	var got []string
	s := connect(t, newMemory(t, legacyServer(func(w *wire, m *mcp.Message) {
		w.say(nil, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		w.say(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		w.say(nil, `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1.0}}`)
		w.say(m, discoverLine(`{}`))
	})), Options{OnNotify: func(m *mcp.Message) { got = append(got, m.Method+string(m.Params)) }})
	callTool(t, s, `{}`, nil)
	if s := strings.Join(got, " "); s != `notifications/tools/list_changed notifications/message{"data":1.0}` {
		t.Errorf("got %s", s)
	}
}

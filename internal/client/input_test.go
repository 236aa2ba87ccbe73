package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// asking is a modern server whose n-th answer to a call is the n-th result; it keeps the params and ids that it got.
type asking struct {
	mu      sync.Mutex
	results []string
	params  []string
	ids     map[mcp.ID]bool
}

func (a *asking) answer(m *mcp.Message) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ids == nil {
		a.ids = map[mcp.ID]bool{}
	}
	a.ids[m.ID] = true
	a.params = append(a.params, m.Method+" "+string(mcp.SetMember(m.Params, metaKey, nil)))
	return a.results[min(len(a.params), len(a.results))-1]
}

// over makes Transports that carry messages, and that take requests.
func (a *asking) over(t *testing.T) map[string]transport.Transport {
	return map[string]transport.Transport{
		"messages": newMemory(t, modernServer(func(w *wire, m *mcp.Message) {
			if m.IsRequest() {
				w.say(m, discoverLine(a.answer(m)))
			}
		})),
		"requests": newPosts(lines(map[string]string{mcp.MethodDiscover: discovered}, func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
			return mcp.Answer(m.ID, []byte(a.answer(m))), nil
		})),
	}
}

const (
	askRoots   = `"inputRequests":{"r\u002F":{"method":"roots/list"}}`
	askTwo     = `"inputRequests":{"a":{"method":"elicitation/create","params":{"n":1.0}},"b":{"method":"sampling/createMessage","params":{"n":2.50}}}`
	oddState   = `"requestState":"\u002F eyJ\u00fc 1.0"`
	needsInput = `"resultType":"input_required"`
)

// B2, case-223, case-278, conformance sep-2322-client-request-state: the peer is asked; the call goes out again under a
// new id with the answers and the state, and with its own bytes.
func TestInput(t *testing.T) {
	a := &asking{}
	for name, tr := range a.over(t) {
		t.Run(name, func(t *testing.T) {
			*a = asking{results: []string{
				`{` + needsInput + `,` + askTwo + `,` + oddState + `}`,
				`{"requestState":"2",` + needsInput + `}`,
				`{` + askRoots + `,` + needsInput + `}`,
				`{"n":1.0}`,
				`{}`,
			}}
			s := connect(t, tr, Options{Capabilities: []byte(everything)})
			p := answering(func(m *mcp.Message) string {
				return `{"to":"` + m.Method + `","p":` + string(or(string(m.Params), "0")) + `}`
			})
			const own = `"name":"x","arguments":{"n":9007199254740993,"u":"\u002F","f":1.0},"y":[1.0]`
			if m := callTool(t, s, `{`+own+`}`, p); string(m.Result) != `{"n":1.0}` {
				t.Errorf("got %s", m.Result)
			}
			callTool(t, s, `{"name":"other"}`, p)
			want := []string{
				`{` + own + `}`,
				`{` + own + `,"inputResponses":{"a":{"to":"elicitation/create","p":{"n":1.0}},"b":{"to":"sampling/createMessage","p":{"n":2.50}}},` + oddState + `}`,
				`{` + own + `,"requestState":"2"}`,
				`{` + own + `,"inputResponses":{"r\u002F":{"to":"roots/list","p":0}}}`,
				`{"name":"other"}`,
			}
			for i := range want {
				want[i] = mcp.MethodCallTool + " " + want[i]
			}
			if d := cmp.Diff(want, a.params); d != "" || len(a.ids) != len(want) {
				t.Errorf("%d ids; %s", len(a.ids), d)
			}
		})
	}
}

func TestInputForEachMethod(t *testing.T) {
	for _, method := range []string{mcp.MethodCallTool, mcp.MethodGetPrompt, mcp.MethodReadResource, mcp.MethodListTools, "completion/complete"} {
		a := &asking{results: []string{`{` + needsInput + `,` + askRoots + `}`, `{}`}}
		s := connect(t, a.over(t)["messages"], Options{Capabilities: []byte(everything)})
		_, err := s.Handle(t.Context(), mcp.Request("1", method, nil), answering(func(*mcp.Message) string { return `{}` }))
		if !mayAskForInput(method) {
			wantKind(t, err, fault.Protocol, method)
		} else if err != nil || len(a.params) != 2 {
			t.Errorf("%s: %v after %q", method, err, a.params)
		}
	}
}

// What can't be answered fails the call at once, and says why (case-223: no hang).
func TestInputThatFails(t *testing.T) {
	round := func(requests string) string { return `{` + needsInput + `,"inputRequests":` + requests + `}` }
	fails := func(context.Context, *mcp.Message) (*mcp.Message, error) { return nil, errors.New("broken") }
	refuses := func(_ context.Context, m *mcp.Message) (*mcp.Message, error) {
		return mcp.ErrorAnswer(m.ID, -1, "the user is away", nil), nil
	}
	noTime := func(context.Context, *mcp.Message) (*mcp.Message, error) {
		return nil, fault.New(fault.Timeout, "no answer")
	}
	for name, c := range map[string]struct {
		result, capabilities string
		peer                 func(context.Context, *mcp.Message) (*mcp.Message, error)
		kind                 fault.Kind
		words                string
		asked                int
	}{
		"nothing declared":   {result: round(`{"a":{"method":"roots/list"}}`), kind: fault.ServerError, words: "asks for input, which can't be given here", asked: 1},
		"kind undeclared":    {result: round(`{"a":{"method":"roots/list"}}`), capabilities: `{"sampling":{}}`, kind: fault.Protocol, words: "asks for roots/list", asked: 1},
		"mode undeclared":    {result: round(`{"a":{"method":"elicitation/create","params":{"mode":"url"}}}`), capabilities: `{"elicitation":{}}`, kind: fault.Protocol, words: `the mode "url"`, asked: 1},
		"one of two":         {result: round(`{"a":{"method":"roots/list"},"b":{"method":"ping"}}`), capabilities: everything, kind: fault.Protocol, words: "ping", asked: 1},
		"no method":          {result: round(`{"a":{}}`), capabilities: everything, kind: fault.Protocol, words: "can't be read", asked: 1},
		"odd params":         {result: round(`{"a":{"method":"roots/list","params":[]}}`), capabilities: everything, kind: fault.Protocol, words: "can't be read", asked: 1},
		"no object":          {result: round(`[]`), capabilities: everything, kind: fault.Protocol, words: "no object", asked: 1},
		"nothing":            {result: round(`{}`), capabilities: everything, kind: fault.Protocol, words: "names nothing", asked: 1},
		"null":               {result: `{` + needsInput + `,"inputRequests":null,"requestState":null}`, capabilities: everything, kind: fault.Protocol, words: "names nothing", asked: 1},
		"too many":           {result: round(`{` + many33() + `}`), capabilities: everything, kind: fault.Protocol, words: "more than 32 things", asked: 1},
		"without an end":     {result: round(`{"a":{"method":"roots/list"}}`), capabilities: everything, kind: fault.Protocol, words: "more than 10 times", asked: 11},
		"state without end":  {result: `{` + needsInput + `,"requestState":"s"}`, capabilities: everything, kind: fault.Protocol, words: "more than 3 times in a row", asked: 4},
		"the peer fails":     {result: round(`{"a":{"method":"roots/list"}}`), capabilities: everything, peer: fails, kind: fault.ServerError, words: "nobody could be asked", asked: 1},
		"the peer refuses":   {result: round(`{"a":{"method":"roots/list"}}`), capabilities: everything, peer: refuses, kind: fault.ServerError, words: "the user is away", asked: 1},
		"the peer can't":     {result: round(`{"a":{"method":"roots/list"}}`), capabilities: everything, peer: mcp.Nobody.Request, kind: fault.ServerError, words: "can't be given here", asked: 1},
		"the peer times out": {result: round(`{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}`), capabilities: everything, peer: noTime, kind: fault.Timeout, words: "no answer", asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &asking{results: []string{c.result}}
				s := connect(t, a.over(t)["messages"], Options{Capabilities: []byte(c.capabilities)})
				p := peerFunc(c.peer)
				if p == nil {
					p = answering(func(*mcp.Message) string { return `{}` }).Request
				}
				started := time.Now()
				_, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, nil), p)
				wantKind(t, err, c.kind, c.words)
				if len(a.params) != c.asked || time.Since(started) > 4*time.Second {
					t.Errorf("%d requests in %v, want %d", len(a.params), time.Since(started), c.asked)
				}
			})
		})
	}
}

func many33() string {
	var b strings.Builder
	for i := range 33 {
		fmt.Fprintf(&b, `,"k%d":{"method":"roots/list"}`, i)
	}
	return b.String()[1:]
}

type peerFunc func(context.Context, *mcp.Message) (*mcp.Message, error)

func (peerFunc) Notify(context.Context, *mcp.Message) {}

func (f peerFunc) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	return f(ctx, m)
}

// A caller that gives up while its peer is being asked gets its turn at once, and nothing is sent any more.
func TestInputIsGivenUp(t *testing.T) {
	for _, requests := range []string{askRoots, askTwo} {
		synctest.Test(t, func(t *testing.T) {
			a := &asking{results: []string{`{` + needsInput + `,` + requests + `}`}}
			s := connect(t, a.over(t)["messages"], Options{Capabilities: []byte(everything)})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, nil), peerFunc(func(ctx context.Context, _ *mcp.Message) (*mcp.Message, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}))
			wantKind(t, err, fault.Timeout)
			if len(a.params) != 1 {
				t.Errorf("the server got %q", a.params)
			}
		})
	}
}

// Rounds that ask nothing may come more often, if not in a row.
func TestIdleRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idle, asks := `{`+needsInput+`,"requestState":"s"}`, `{`+needsInput+`,`+askRoots+`}`
		a := &asking{results: []string{idle, idle, idle, asks, idle, idle, idle, `{}`}}
		s := connect(t, a.over(t)["messages"], Options{Capabilities: []byte(everything)})
		started := time.Now()
		callTool(t, s, `{}`, answering(func(*mcp.Message) string { return `{}` }))
		if took := time.Since(started); len(a.params) != 8 || took != 6*time.Second {
			t.Errorf("%d requests in %v", len(a.params), took)
		}
	})
}

// The gateway passes rounds through to a modern agent, and its retry back, byte for byte. A peer's own terms win.
func TestInputIsPassedOn(t *testing.T) {
	result := `{` + needsInput + `,` + askRoots + `,` + oddState + `}`
	for name, c := range map[string]struct {
		options Options
		peer    mcp.Peer
	}{
		"options": {options: Options{Capabilities: []byte(everything), PassInput: true}},
		"peer":    {peer: termed{mcp.Nobody, Terms{Capabilities: []byte(everything), PassInput: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &asking{results: []string{result, `{}`}}
			s := connect(t, a.over(t)["messages"], c.options)
			if m := callTool(t, s, `{"name":"x"}`, c.peer); string(m.Result) != result {
				t.Errorf("got %s", m.Result)
			}
			retry := `{"name":"x","inputResponses":{"r\u002F":{"roots":[]}},` + oddState + `}`
			callTool(t, s, retry, c.peer)
			if d := cmp.Diff([]string{mcp.MethodCallTool + ` {"name":"x"}`, mcp.MethodCallTool + " " + retry}, a.params); d != "" {
				t.Error(d)
			}
		})
	}
}

// FuzzInput: whatever a server asks for, the next round is JSON, keeps the caller's members and echoes the state.
func FuzzInput(f *testing.F) {
	f.Add([]byte(`{"name":"x","arguments":{"n":1.0}}`), []byte(`{`+needsInput+`,`+askTwo+`,`+oddState+`}`))
	f.Add([]byte(`{"requestState":"old","inputResponses":{}}`), []byte(`{"requestState":"new"}`))
	f.Add([]byte(``), []byte(`{"inputRequests":{"\u0061":{"method":"roots/list","params":{}}}}`))
	s := &Session{o: Options{}.withDefaults(), over: make(chan struct{})}
	d := declare(Terms{Capabilities: []byte(everything)})
	f.Fuzz(func(t *testing.T, params, result []byte) {
		if len(params) > 0 && (mcp.Validate(params) != nil || !isObject(params)) || mcp.Validate(result) != nil {
			return
		}
		j := &job{s: s, method: mcp.MethodCallTool, peer: answering(func(*mcp.Message) string { return `{"x":1.0}` }), declared: &d}
		next, err := j.input(t.Context(), params, result)
		if err != nil {
			return
		}
		if err := mcp.Validate(next); err != nil && !strings.Contains(err.Error(), "nested deeper") {
			t.Fatalf("%s and %s became %s: %v", params, result, next, err)
		}
		state := mcp.Member(result, keyState)
		if string(state) == "null" {
			state = nil
		}
		if got := mcp.Member(next, keyState); string(got) != string(state) {
			t.Fatalf("the state %s became %s", state, got)
		}
		for key, v := range mcp.Members(params) {
			if k := mcp.Text(key); k != keyState && k != keyResponses && string(mcp.Member(next, k)) != string(v) {
				t.Fatalf("%s became %s", params, next)
			}
		}
	})
}

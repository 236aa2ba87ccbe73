package client

import (
	"context"
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

const withTasks = `{"elicitation":{},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// tasker makes a task of each call; its n-th answer to tasks/get is the n-th state.
type tasker struct {
	t       *testing.T
	created string
	states  []string // after `"taskId":…,`; "status N" fails with that HTTP status or is silent
	extra   func(m *mcp.Message)
	driven  bool // by TaskGet, which writes the id anew

	mu   sync.Mutex
	gets int
	at   []time.Duration // of each tasks/get, since the call
	told []string        // other requests
	zero time.Time
}

func (k *tasker) answer(m *mcp.Message) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch m.Method {
	case mcp.MethodCallTool:
		k.zero = time.Now()
		return or(k.created, `{"resultType":"task","taskId":"t\u002F1","status":"working","pollIntervalMs":250}`)
	case mcp.MethodGetTask:
		if id := mcp.Member(m.Params, "taskId"); !k.driven && string(id) != `"t\u002F1"` {
			k.t.Errorf("asked for the task %s", id) // not byte for byte
		}
		if c := mcp.Path(m.Params, metaKey, mcp.MetaCapabilities); !strings.Contains(string(c), mcp.ExtensionTasks) {
			k.t.Errorf("tasks/get declares %s", c)
		}
		k.at = append(k.at, time.Since(k.zero))
		k.gets++
		return k.states[min(k.gets, len(k.states))-1]
	}
	k.told = append(k.told, m.Method+" "+string(mcp.SetMember(m.Params, metaKey, nil)))
	return `{"resultType":"complete"}`
}

func (k *tasker) handle(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	if m.Mirror.Method != m.Method || m.Method != mcp.MethodCallTool && m.Mirror.Name != "t/1" {
		k.t.Errorf("%s mirrors %+v", m.Method, m.Mirror)
	}
	if k.extra != nil {
		k.extra(m)
	}
	switch line := k.answer(m); {
	case strings.HasPrefix(line, "status "):
		var code int
		_, _ = fmt.Sscanf(line, "status %d", &code)
		return nil, status(code, "")
	case strings.HasPrefix(line, "{"):
		return mcp.Answer(m.ID, []byte(line)), nil
	default:
		return &mcp.Message{ID: m.ID, Error: []byte(line[1:])}, nil // "!{…}"
	}
}

func (k *tasker) transport() transport.Transport {
	return newPosts(lines(map[string]string{mcp.MethodDiscover: discovered}, k.handle))
}

func state(rest string) string { return `{"resultType":"complete","taskId":"t\u002F1",` + rest + `}` }

// SEP-2663: a task is followed to its end, no faster than its server wants; its outcome is the answer to the call.
func TestTasks(t *testing.T) {
	const working = `"status":"working"`
	ms := func(n ...int) (d []time.Duration) {
		for _, n := range n {
			d = append(d, time.Duration(n)*time.Millisecond)
		}
		return d
	}
	done := state(`"status":"completed","result":{"content":[],"isError":true,"n":1.0}`)
	for name, c := range map[string]struct {
		created string
		states  []string
		result  string // or the error object
		kind    fault.Kind
		words   string
		at      []time.Duration
	}{
		"completed":    {states: []string{state(working + `,"pollIntervalMs":500`), state(working), done}, result: `{"content":[],"isError":true,"n":1.0}`, at: ms(250, 750, 1750)},
		"too fast":     {states: []string{state(working + `,"pollIntervalMs":1`), state(working + `,"pollIntervalMs":1.5e2`), state(working + `,"pollIntervalMs":-5`), done}, result: `{"content":[],"isError":true,"n":1.0}`, at: ms(250, 350, 500, 1500)},
		"at once":      {created: `{"resultType":"task","taskId":"t\u002F1","status":"completed","pollIntervalMs":250}`, states: []string{done}, result: `{"content":[],"isError":true,"n":1.0}`, at: ms(0)},
		"failed":       {states: []string{state(`"status":"failed","error":{"code":-32603,"message":"m","data":1.0}`)}, result: `{"code":-32603,"message":"m","data":1.0}`, at: ms(250)},
		"cancelled":    {states: []string{state(`"status":"cancelled","statusMessage":"by an admin"`)}, kind: fault.Cancelled, words: "by an admin", at: ms(250)},
		"unknown":      {states: []string{state(`"status":"paused"`)}, kind: fault.Protocol, words: "paused", at: ms(250)},
		"no result":    {states: []string{state(`"status":"completed"`)}, kind: fault.Protocol, words: "no result", at: ms(250)},
		"odd result":   {states: []string{state(`"status":"completed","result":{"resultType":"task"}`)}, kind: fault.Protocol, words: "no result", at: ms(250)},
		"no error":     {states: []string{state(`"status":"failed","error":7`)}, kind: fault.Protocol, words: "no error", at: ms(250)},
		"wrong type":   {states: []string{`{"resultType":"task","taskId":"t"}`}, kind: fault.Protocol, words: "wrong type", at: ms(250)},
		"no id":        {created: `{"resultType":"task","status":"working"}`, kind: fault.Protocol, words: "no taskId"},
		"gone":         {states: []string{`!{"code":-32602,"message":"no such task"}`}, kind: fault.ServerError, words: "no such task", at: ms(250)},
		"2 bad polls":  {states: []string{"status 503", "status 502", done}, result: `{"content":[],"isError":true,"n":1.0}`, at: ms(250, 500, 750)},
		"bad in turns": {states: []string{"status 503", "status 502", state(working + `,"pollIntervalMs":250`), "status 503", "status 502", done}, result: `{"content":[],"isError":true,"n":1.0}`, at: ms(250, 500, 750, 1000, 1250, 1500)},
		"bad at first": {created: `{"resultType":"task","taskId":"t\u002F1","status":"completed","pollIntervalMs":250}`, states: []string{"status 503", done}, result: `{"content":[],"isError":true,"n":1.0}`, at: ms(0, 250)},
		"3 bad polls":  {states: []string{"status 503"}, kind: fault.ServerError, words: "503", at: ms(250, 500, 750)},
		"no authority": {states: []string{"status 401"}, kind: fault.Auth, at: ms(250)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &tasker{t: t, created: c.created, states: c.states}
				s := connect(t, k.transport(), Options{Capabilities: []byte(withTasks)})
				m, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, []byte(`{"name":"x"}`)), nil)
				if c.kind != "" {
					wantKind(t, err, c.kind, c.words)
				} else if err != nil || string(m.Result)+string(m.Error) != c.result || m.ID != "1" {
					t.Errorf("got %+v, %v", m, err)
				}
				if d := cmp.Diff(c.at, k.at); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

// Each question of a task is answered once, by its key.
func TestTaskAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asking := func(requests string) string {
			return state(`"status":"input_required","inputRequests":{` + requests + `}`)
		}
		const a, b = `"\u0061":{"method":"roots/list"}`, `"b":{"method":"elicitation/create","params":{"n":1.0}}`
		k := &tasker{t: t, states: []string{asking(a), asking(a), asking(strings.Replace(a, `\u0061`, "a", 1) + "," + b), state(`"status":"working"`),
			state(`"status":"completed","result":{"ok":1.0}`)}}
		s := connect(t, k.transport(), Options{Capabilities: []byte(withTasks)})
		if m := callTool(t, s, `{"name":"x"}`, answering(func(m *mcp.Message) string { return `{"p":` + string(or(string(m.Params), "0")) + `}` })); string(m.Result) != `{"ok":1.0}` {
			t.Errorf("got %s", m.Result)
		}
		want := []string{
			`tasks/update {"taskId":"t\u002F1","inputResponses":{"\u0061":{"p":0}}}`,
			`tasks/update {"taskId":"t\u002F1","inputResponses":{"b":{"p":{"n":1.0}}}}`,
		}
		if d := cmp.Diff(want, k.told); d != "" {
			t.Error(d)
		}
	})
}

// A caller that goes away doesn't wait for tasks/cancel, which is sent all the same.
func TestTaskIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled, returned := make(chan *mcp.Message), make(chan struct{})
		k := &tasker{t: t, states: []string{state(`"status":"working"`)}, extra: func(m *mcp.Message) {
			if m.Method == mcp.MethodCancelTask {
				<-returned
				cancelled <- m
			}
		}}
		s := connect(t, k.transport(), Options{Capabilities: []byte(withTasks)})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		started := time.Now()
		_, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, nil), nil)
		wantKind(t, err, fault.Timeout)
		if took := time.Since(started); took != 10*time.Second {
			t.Errorf("it took %v", took)
		}
		close(returned)
		if m := <-cancelled; string(mcp.Member(m.Params, "taskId")) != `"t\u002F1"` {
			t.Errorf("the server was told %s", m.Params)
		}
	})
}

// A task that wasn't declared, or that another method is answered with, is refused; one that is passed on isn't followed.
func TestTasksOnOtherTerms(t *testing.T) {
	k := &tasker{t: t}
	s := connect(t, k.transport(), Options{})
	_, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, nil), nil)
	wantKind(t, err, fault.Protocol, "task")
	p := termed{mcp.Nobody, Terms{Capabilities: []byte(withTasks), PassTask: true}}
	if m := callTool(t, s, `{}`, p); mcp.Text(mcp.Member(m.Result, "taskId")) != "t/1" || k.gets != 0 {
		t.Errorf("got %s after %d polls", m.Result, k.gets)
	}
	k.states, k.driven = []string{state(`"status":"working"`)}, true
	if m, err := s.TaskGet(t.Context(), "t/1", p); err != nil || mcp.Text(mcp.Member(m.Result, "status")) != "working" {
		t.Errorf("%v, %v", m, err)
	}
	_, err1 := s.TaskUpdate(t.Context(), "t/1", []byte(`{"a":{"n":1.0}}`), p)
	_, err2 := s.TaskCancel(t.Context(), "t/1", p)
	if err1 != nil || err2 != nil {
		t.Error(err1, err2)
	}
	if d := cmp.Diff([]string{`tasks/update {"taskId":"t/1","inputResponses":{"a":{"n":1.0}}}`, `tasks/cancel {"taskId":"t/1"}`}, k.told); d != "" {
		t.Error(d)
	}
}

// A task that the client gives up, for whatever reason, is cancelled; one that has ended isn't.
func TestTaskIsGivenUp(t *testing.T) {
	for given, want := range map[string][]string{
		state(`"status":"input_required","inputRequests":{"a":{"method":"sampling/createMessage"}}`): {`tasks/cancel {"taskId":"t\u002F1"}`},
		state(`"status":"paused"`):           {`tasks/cancel {"taskId":"t\u002F1"}`},
		`status 401`:                         {`tasks/cancel {"taskId":"t\u002F1"}`},
		state(`"status":"failed","error":7`): nil,
		state(`"status":"cancelled"`):        nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			k := &tasker{t: t, states: []string{given}}
			s := connect(t, k.transport(), Options{Capabilities: []byte(withTasks)})
			if _, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, nil), nil); err == nil {
				t.Errorf("%s: no error", given)
			}
			synctest.Wait()
			if d := cmp.Diff(want, k.told); d != "" {
				t.Errorf("%s: %s", given, d)
			}
		})
	}
}

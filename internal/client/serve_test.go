package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/usher-mcp/usher/mcp"
)

const everything = `{"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"roots":{}}`

// 2025-11-25, "Elicitation", "Sampling": what may be asked follows from what was declared.
func TestPermits(t *testing.T) {
	for _, c := range []struct {
		capabilities, method, params string
		code                         int
	}{
		{``, mcp.MethodRoots, ``, -32601},
		{`{}`, mcp.MethodSample, `{}`, -32601},
		{`{"roots":{}}`, mcp.MethodRoots, ``, 0},
		{`{"roots":null}`, mcp.MethodRoots, ``, -32601},
		{`{"roots":{}}`, "tasks/get", ``, -32601},
		{`{"sampling":{}}`, mcp.MethodSample, `{}`, 0},
		{`{"sampling":{}}`, mcp.MethodSample, `{"tools":[]}`, -32602},
		{`{"sampling":{}}`, mcp.MethodSample, `{"tool\u0043hoice":{}}`, -32602},
		{`{"sampling":{"tools":{}}}`, mcp.MethodSample, `{"tools":[],"toolChoice":{}}`, 0},
		{`{"sampling":{}}`, mcp.MethodElicit, `{}`, -32601},
		{`{"elicitation":{}}`, mcp.MethodElicit, `{}`, 0},
		{`{"elicitation":{}}`, mcp.MethodElicit, `{"mode":"form"}`, 0},
		{`{"elicitation":{}}`, mcp.MethodElicit, `{"mode":"url"}`, -32602},
		{`{"elicitation":{"url":{}}}`, mcp.MethodElicit, `{}`, -32602},
		{`{"elicitation":{"url":{}}}`, mcp.MethodElicit, `{"mode":"url"}`, 0},
		{`{"elicitation":{"form":{},"url":{}}}`, mcp.MethodElicit, `{"mode":"video"}`, -32602},
		{`{"elicitation":{"form":{},"url":{}}}`, mcp.MethodElicit, `{"mode":7}`, -32602},
	} {
		d := declare(Terms{Capabilities: []byte(c.capabilities)})
		code := 0
		if e := d.permits(c.method, []byte(c.params)); e != nil {
			code = e.Code
		}
		if code != c.code {
			t.Errorf("with %s, %s %s: %d, want %d", c.capabilities, c.method, c.params, code, c.code)
		}
	}
}

// Capabilities are declared byte for byte: once to a legacy server, with each request to a modern one.
func TestDeclaration(t *testing.T) {
	const caps = `{"roots":{},"x":[1.0,"\u002F",9007199254740993]}`
	seen := make(chan string, 8)
	note := func(line string) func(w *wire, m *mcp.Message) {
		return func(w *wire, m *mcp.Message) {
			seen <- string(m.Params)
			w.say(m, line)
		}
	}
	connect(t, newMemory(t, server(map[string]string{mcp.MethodDiscover: unknownMethod}, note(initialized))), Options{Capabilities: []byte(caps)})
	if got := <-seen; !strings.Contains(got, `"capabilities":`+caps+`,`) {
		t.Errorf("initialize said %s", got)
	}
	s := connect(t, newMemory(t, modernServer(note(discoverLine(`{}`)))), Options{Capabilities: []byte(caps)})
	callTool(t, s, `{}`, nil)
	if got := <-seen; !strings.Contains(got, `"`+mcp.MetaCapabilities+`":`+caps+`,`) {
		t.Errorf("the call said %s", got)
	}
	callTool(t, s, `{}`, termed{Peer: mcp.Nobody, terms: Terms{Capabilities: []byte(`{"sampling":{}}`)}})
	if got := <-seen; !strings.Contains(got, `"`+mcp.MetaCapabilities+`":{"sampling":{}},`) {
		t.Errorf("the call of a peer with terms said %s", got)
	}
	for _, line := range []string{unknownMethod, discovered} {
		if _, err := Connect(t.Context(), newMemory(t, server(map[string]string{mcp.MethodDiscover: line}, nil)), Options{Era: mcp.Legacy, Capabilities: []byte(`[]`)}); err == nil {
			t.Error("capabilities that are no object were taken")
		}
	}
}

type termed struct {
	mcp.Peer
	terms Terms
}

func (p termed) Terms() Terms { return p.terms }

// asks sends lines and returns the answers to them by id, as they come.
func asks(answers chan<- *mcp.Message, lines func() []string) func(*wire) {
	return legacyServer(func(w *wire, m *mcp.Message) {
		if m.IsAnswer() {
			answers <- m
			return
		}
		if m.IsRequest() {
			for _, line := range lines() {
				w.say(nil, line)
			}
			w.say(m, discoverLine(`{}`))
		}
	})
}

func ask(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

// case-226, case-228, case-232: declared questions are answered, bytes as they are; others are refused, not dropped.
func TestQuestionsOutsideOfACall(t *testing.T) {
	answers := make(chan *mcp.Message, 8)
	tr := newMemory(t, asks(answers, func() []string {
		return []string{
			ask(`"a\u002F"`, mcp.MethodSample, `{"n":1.0,"u":"\u002F"}`), ask("2", mcp.MethodRoots, `{}`), ask("3", mcp.MethodPing, `{}`),
			ask("4", "x/y", `{}`), ask("5", mcp.MethodElicit, `{"mode":"fails"}`), ask("6", mcp.MethodElicit, `{"fail":1}`),
		}
	}))
	s := connect(t, tr, Options{Capabilities: []byte(everything), OnRequest: func(_ context.Context, m *mcp.Message) (*mcp.Message, error) {
		if mcp.Member(m.Params, "fail") != nil {
			return nil, errors.New("a secret of ours")
		}
		return mcp.Answer("other", []byte(`{"got":`+string(m.Params)+`}`)), nil
	}})
	callTool(t, s, `{}`, nil)
	want := map[mcp.ID]string{
		`"a\u002F"`: `{"got":{"n":1.0,"u":"\u002F"}}`, `2`: `{"got":{}}`, `3`: `{}`, `4`: `{"code":-32601,`, `5`: `{"code":-32602,`,
		`6`: `{"code":-32603,"message":"the client couldn't answer elicitation/create"}`,
	}
	for range len(want) {
		a := <-answers
		if got := string(a.Result) + string(a.Error); want[a.ID] == "" || !strings.HasPrefix(got, want[a.ID]) {
			t.Errorf("%s was answered with %s, want %s", a.ID, got, want[a.ID])
		}
		delete(want, a.ID)
	}
}

// A slow answer holds up neither the reader nor other questions; more than 32 at once are refused; what the server takes
// back is not answered; the end of the session ends the rest.
func TestSlowAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan *mcp.Message, 64)
		lines := []string{}
		for i := range maxAsked {
			lines = append(lines, ask(strconv.Itoa(i), mcp.MethodRoots, `{}`))
		}
		lines = append(lines, ask("0", mcp.MethodRoots, `{}`), ask("100", mcp.MethodRoots, `{}`), ask("101", mcp.MethodPing, `{}`),
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		once := lines
		tr := newMemory(t, asks(answers, func() (l []string) { l, once = once, nil; return l }))
		var ended atomic.Int32
		s := connect(t, tr, Options{Capabilities: []byte(everything), OnRequest: func(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
			<-ctx.Done()
			ended.Add(1)
			return nil, ctx.Err()
		}})
		callTool(t, s, `{}`, nil) // its answer comes behind all the questions
		synctest.Wait()
		if len(answers) != 3 {
			t.Errorf("%d answers, want one to the second 0, to the 33rd and to the ping", len(answers))
		}
		for range len(answers) {
			if a := <-answers; a.ID != "0" && a.ID != "100" && a.ID != "101" || a.ID != "101" && a.Error == nil {
				t.Errorf("%s was answered: %s%s", a.ID, a.Result, a.Error)
			}
		}
		if ended.Load() != 1 {
			t.Errorf("%d questions have ended, want the one that was taken back", ended.Load())
		}
		_ = s.Close()
		if ended.Load() != maxAsked {
			t.Errorf("%d questions have ended after Close", ended.Load())
		}
	})
}

// Two questions with one id can't be told apart: the second is refused.
func TestSecondQuestionWithTheSameID(t *testing.T) {
	answers, refused := make(chan *mcp.Message, 2), make(chan struct{})
	s := connect(t, newMemory(t, asks(answers, func() []string {
		return []string{ask("1", mcp.MethodRoots, `{}`), ask("1", mcp.MethodRoots, `{}`)}
	})), Options{Capabilities: []byte(everything), OnRequest: func(_ context.Context, m *mcp.Message) (*mcp.Message, error) {
		<-refused
		return mcp.Answer(m.ID, nil), nil
	}})
	callTool(t, s, `{}`, nil)
	if a := <-answers; a.Err() == nil || a.Err().Code != mcp.CodeInternal {
		t.Errorf("got %s%s", a.Result, a.Error)
	}
	close(refused)
	if a := <-answers; a.Error != nil {
		t.Errorf("got %s", a.Error)
	}
}

// Without OnRequest nobody can be asked, whatever was declared.
func TestNobodyToAsk(t *testing.T) {
	answers := make(chan *mcp.Message, 1)
	s := connect(t, newMemory(t, asks(answers, func() []string { return []string{ask("1", mcp.MethodRoots, `{}`)} })), Options{Capabilities: []byte(everything)})
	callTool(t, s, `{}`, nil)
	if a := <-answers; a.Err() == nil || a.Err().Code != mcp.CodeMethodNotFound {
		t.Errorf("got %s%s", a.Result, a.Error)
	}
}

// A question on the stream of a call goes to that call's peer; where the call has none, to the session's.
func TestQuestionsWithinACall(t *testing.T) {
	got := make(chan string, 8)
	conn := newPosts(lines(map[string]string{mcp.MethodDiscover: unknownMethod, mcp.MethodInitialize: initialized},
		func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			for _, method := range []string{mcp.MethodElicit, mcp.MethodPing, "x/y"} {
				a, err := p.Request(ctx, mcp.Request("9", method, []byte(`{}`)))
				got <- fmt.Sprintf("%s%s %v", a.Result, a.Error, err)
			}
			return mcp.Answer(m.ID, nil), nil
		}))
	s := connect(t, conn, Options{Capabilities: []byte(everything), OnRequest: func(context.Context, *mcp.Message) (*mcp.Message, error) {
		return mcp.Answer("", []byte(`{"by":"session"}`)), nil
	}})
	for by, p := range map[string]mcp.Peer{"call": answering(func(*mcp.Message) string { return `{"by":"call"}` }), "session": nil} {
		callTool(t, s, `{}`, p)
		if a, ping, other := <-got, <-got, <-got; a != `{"by":"`+by+`"} <nil>` || ping != `{} <nil>` || !strings.HasPrefix(other, `{"code":-32601`) {
			t.Errorf("%s: %s; %s; %s", by, a, ping, other)
		}
	}
}

// answering is a Peer that answers every question with a result.
type answering func(m *mcp.Message) string

func (answering) Notify(context.Context, *mcp.Message) {}

func (f answering) Request(_ context.Context, m *mcp.Message) (*mcp.Message, error) {
	return mcp.Answer(m.ID, []byte(f(m))), nil
}

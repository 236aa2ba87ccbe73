package client

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

func callTool(t testing.TB, s *Session, params string, p mcp.Peer) *mcp.Message {
	t.Helper()
	m, err := s.Handle(t.Context(), mcp.Request(`"theirs"`, mcp.MethodCallTool, []byte(params)), p)
	if err != nil {
		t.Fatal(err)
	}
	if m.ID != `"theirs"` {
		t.Errorf("the answer has the id %s", m.ID)
	}
	return m
}

// Progress goes to the call that asked for it, under its own token, before its answer.
func TestProgress(t *testing.T) {
	for name, shake := range map[string]func(func(*wire, *mcp.Message)) func(*wire){"modern": modernServer, "legacy": legacyServer} {
		t.Run(name, func(t *testing.T) {
			s := connect(t, newMemory(t, shake(func(w *wire, m *mcp.Message) {
				token := string(mcp.Path(m.Params, "_meta", "progressToken"))
				note := func(token string) {
					w.say(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+token+`,"progress":1.0,"x":"\u002F"}}`)
				}
				note(or(token, string(m.ID)))
				note(`"` + token + `"`)
				note("4711")
				w.say(m, discoverLine(`{}`))
			})), Options{})
			p := new(peer)
			callTool(t, s, `{"_meta":{"progressToken":"\u0061"}}`, p)
			want := `notifications/progress {"progressToken":"\u0061","progress":1.0,"x":"\u002F"}`
			if got := strings.Join(p.all(), "\n"); got != want {
				t.Errorf("the peer was told\n%s", got)
			}
			callTool(t, s, `{}`, p) // it didn't ask for progress, so it gets none
			if n := len(p.all()); n != 1 || s.Strays() != 5 {
				t.Errorf("%d notifications, %d strays", n, s.Strays())
			}
		})
	}
}

// slowPeer holds the reader within Notify until it is let go.
type slowPeer struct {
	peer
	entered, leave chan struct{}
	left           bool
}

func (p *slowPeer) Notify(context.Context, *mcp.Message) {
	close(p.entered)
	<-p.leave
	p.left = true
}

// All that a peer is told precedes the return of Handle, also if the caller gives up in the middle of it.
func TestNothingIsToldAfterHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := connect(t, newMemory(t, legacyServer(func(w *wire, m *mcp.Message) {
			if m.Method == mcp.MethodCallTool {
				w.say(m, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":ID}}`)
			}
		})), Options{})
		p := &slowPeer{entered: make(chan struct{}), leave: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-p.entered
			cancel()
			synctest.Wait()
			close(p.leave)
		}()
		_, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, []byte(`{"_meta":{"progressToken":1}}`)), p)
		wantKind(t, err, fault.Cancelled)
		if !p.left {
			t.Error("Handle returned while its peer was being told something")
		}
	})
}

// case-074, case-193: a call that is given up is cancelled at the server in the way of its era; its late answer is dropped.
func TestGivenUp(t *testing.T) {
	for name, shake := range map[string]func(func(*wire, *mcp.Message)) func(*wire){"modern": modernServer, "legacy": legacyServer} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked *mcp.Message
				told := make(chan string, 2)
				s := connect(t, newMemory(t, shake(func(w *wire, m *mcp.Message) {
					switch m.Method {
					case mcp.NotifyCancelled:
						told <- string(m.Params)
						w.say(asked, discoverLine(`{}`))
					case "again":
						w.say(m, discoverLine(`{"n":2}`))
					default:
						asked = m
					}
				})), Options{Name: "x"})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, nil), nil)
				wantKind(t, err, fault.Timeout, "x")
				if got, want := <-told, `{"requestId":`+string(asked.ID)+`,"reason":"timeout"}`; got != want {
					t.Errorf("the server was told %s, want %s", got, want)
				}
				m, err := s.Handle(t.Context(), mcp.Request("1", "again", nil), nil)
				if err != nil || string(m.Result) != `{"n":2}` || s.Strays() != 1 {
					t.Errorf("%v, %v, %d strays", m, err, s.Strays())
				}
			})
		})
	}
}

// Somebody else's clock may end a call, and says so in the cause.
func TestCauseTellsTheKind(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.New(fault.Timeout, "no progress for 10s"))
	s := connect(t, newMemory(t, modernServer(nil)), Options{})
	_, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, nil), nil)
	wantKind(t, err, fault.Timeout, "no progress for 10s")
}

// A connection that ends with 50 calls in flight ends each of them, once.
func TestCut(t *testing.T) {
	const n = 50
	s := connect(t, newMemory(t, func(w *wire) {
		w.say(w.next(), discovered)
		for range n {
			w.next()
		}
	}), Options{Name: "x"})
	errs := make(chan error, 2*n)
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			_, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, nil), nil)
			errs <- err
		})
	}
	wait.Wait()
	if len(errs) != n {
		t.Errorf("%d ends for %d calls", len(errs), n)
	}
	for range len(errs) {
		wantKind(t, <-errs, fault.Restarted, "exit status 3", "its last words: panic:  [31moh no", "x")
	}
	<-s.Done()
	if s.Err() == nil {
		t.Error("Err is nil after the end")
	}
	_, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, nil), nil)
	wantKind(t, err, fault.Unavailable, "exit status 3")
	if !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("%v doesn't say that nothing was sent", err)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	asked := make(chan struct{})
	s := connect(t, newMemory(t, modernServer(func(*wire, *mcp.Message) { close(asked) })), Options{})
	done := make(chan error)
	go func() {
		_, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, nil), nil)
		done <- err
	}()
	<-asked
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	wantKind(t, <-done, fault.Restarted, "from our side")
}

func TestRequestsThatAreRefusedHere(t *testing.T) {
	s := connect(t, newMemory(t, modernServer(nil)), Options{})
	big := []byte(`{"a":"` + strings.Repeat("x", mcp.MaxMessage) + `"}`)
	for _, params := range [][]byte{[]byte(`[]`), []byte(`7`), big} {
		_, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, params), nil)
		wantKind(t, err, fault.InvalidParams)
	}
}

// Many callers, answers out of order, some of them given up: each gets its own.
func TestManyCalls(t *testing.T) {
	s := connect(t, newMemory(t, modernServer(func(w *wire, m *mcp.Message) {
		if m.IsRequest() {
			go w.say(m, discoverLine(string(mcp.Member(m.Params, "arguments"))))
		}
	})), Options{})
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Go(func() {
			for i := range 200 {
				want := `{"n":` + strconv.Itoa(g*1000+i) + `}`
				ctx, cancel := context.WithCancel(t.Context())
				if i%5 == 0 {
					go cancel()
				}
				m, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, []byte(`{"arguments":`+want+`}`)), nil)
				cancel()
				if err == nil && string(m.Result) != want {
					t.Errorf("got %s, want %s", m.Result, want)
				} else if err != nil && (i%5 != 0 || fault.KindOf(err) != fault.Cancelled) {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

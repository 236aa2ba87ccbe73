package client

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

const tellsAll = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}`

var wantAll = Listen{Tools: true, Prompts: true, Resources: true, URIs: []string{"f:\u002F\u00fc"}}

// heard keeps what a session hears.
type heard struct {
	mu    sync.Mutex
	lines []string
	stale []time.Duration
	zero  time.Time
}

func (h *heard) options(l Listen) Options {
	h.zero = time.Now()
	return Options{
		Listen: l,
		OnNotify: func(m *mcp.Message) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.lines = append(h.lines, m.Method+" "+string(m.Params))
		},
		OnStale: func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.stale = append(h.stale, time.Since(h.zero).Round(time.Second))
		},
	}
}

func (h *heard) all() ([]string, []time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.lines...), append([]time.Duration(nil), h.stale...)
}

func note(method, id, params string) string {
	if params != "" {
		params += ","
	}
	return `{"jsonrpc":"2.0","method":"` + method + `","params":{` + params + `"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}}}`
}

const ack = "notifications/subscriptions/acknowledged"

// 2026-07-28, "subscriptions/listen" over stdio: what bears the id of the subscription is heard, once it is open when
// Connect returns; the hop's own key is taken out, other bytes stay.
func TestListen(t *testing.T) {
	asked := make(chan *mcp.Message, 1)
	tr := newMemory(t, modernOffering(tellsAll, func(w *wire, m *mcp.Message) {
		if m.Method == mcp.MethodListen {
			asked <- m
			w.say(m, note(ack, "ID", `"notifications":{}`))
			return
		}
		l := <-asked
		asked <- l
		w.say(l, note(mcp.NotifyTools, "ID", `"x":1.0`))
		w.say(l, note(mcp.NotifyUpdated, `"ID"`, `"uri":"f:\u002F\u00fc"`))
		w.say(l, strings.Replace(note(mcp.NotifyPrompts, "ID", ``), `{"io`, `{"k":1.0,"io`, 1))
		w.say(l, note(mcp.NotifyTools, "4711", ``))
		w.say(m, note(mcp.NotifyTools, "ID", ``)) // a call, no subscription
		w.say(l, note(mcp.NotifyTools, `{}`, ``))
		w.say(l, note(mcp.NotifyProgress, "ID", ``))
		w.say(l, note(mcp.NotifyMessage, "ID", ``))
		w.say(nil, `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`) // one that forgot the key
		w.say(m, discoverLine(`{}`))
	}))
	h := new(heard)
	s := connect(t, tr, h.options(wantAll))
	if steps := s.Info().Steps; steps[len(steps)-1].What != "subscribe" || steps[len(steps)-1].Result != "ok" {
		t.Errorf("steps %+v", steps)
	}
	callTool(t, s, `{}`, nil)
	lines, stale := h.all()
	want := []string{
		`notifications/tools/list_changed {"x":1.0}`, `notifications/resources/updated {"uri":"f:\u002F\u00fc"}`,
		`notifications/prompts/list_changed {"_meta":{"k":1.0}}`, `notifications/resources/list_changed `,
	}
	if d := cmp.Diff(want, lines); d != "" || stale != nil || s.Strays() != 5 {
		t.Errorf("stale %v, %d strays; %s", stale, s.Strays(), d)
	}
	l := <-asked
	wantParams := `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["f:/ü"]}`
	if got := mcp.Member(l.Params, "notifications"); string(got) != wantParams || mcp.Path(l.Params, metaKey, mcp.MetaVersion) == nil {
		t.Errorf("asked for %s", l.Params)
	}
}

// Only what the server declared is asked for; nothing if that is nothing.
func TestListenToWhatIsDeclared(t *testing.T) {
	for capabilities, want := range map[string]string{
		`{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":false}}`: `{"toolsListChanged":true}`,
		`{"tools":{"listChanged":false},"resources":{}}`:                              ``,
	} {
		got := ""
		tr := newMemory(t, modernOffering(capabilities, func(w *wire, m *mcp.Message) {
			got = string(mcp.Member(m.Params, "notifications"))
			w.say(m, note(ack, "ID", ``))
		}))
		s := connect(t, tr, Options{Listen: wantAll})
		if got != want {
			t.Errorf("asked for %s, want %s; %+v", got, want, s.Info().Steps)
		}
	}
}

// listenFunc answers subscriptions/listen.
type listenFunc func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error)

// listening is a modern server over HTTP whose n-th stream does what the n-th function does.
func listening(streams ...listenFunc) *posts {
	n := 0
	return newPosts(lines(map[string]string{mcp.MethodDiscover: offering(discovered, tellsAll)}, func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		n++
		return streams[min(n, len(streams))-1](ctx, m, p)
	}))
}

func opens(then listenFunc) listenFunc {
	return func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		p.Notify(ctx, mcp.Notification(ack, []byte(`{}`)))
		return then(ctx, m, p)
	}
}

func stays(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func isCut(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) {
	return nil, transport.ErrSessionExpired // any error
}

func lasts(d time.Duration) listenFunc {
	return func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		select {
		case <-time.After(d):
			return isCut(ctx, m, p)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// A subscription that is lost is opened again, later each time unless it was open for a while; then all is stale.
func TestListenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := opens(isCut)
		tr := listening(cut, cut, cut, isCut, isCut, isCut, isCut, opens(lasts(time.Minute)), opens(stays))
		h := new(heard)
		s := connect(t, tr, h.options(wantAll))
		<-time.After(5 * time.Minute)
		_, stale := h.all()
		// Cuts at 0, +1, +2; failures after +4, +8, +16, +30; open after +30; cut after 60, open after +1.
		want := []float64{1, 3, 91, 152}
		if len(stale) != len(want) {
			t.Fatalf("stale at %v, want near %v", stale, want)
		}
		for i, w := range want {
			if got := stale[i].Seconds(); got < w*0.7-1 || got > w*1.3+1 {
				t.Errorf("stale at %v, want near %v", stale, want)
			}
		}
		if again := stale[3] - stale[2] - time.Minute; again > 2*time.Second {
			t.Errorf("%v after one that was open for a minute", again)
		}
		_ = s.Close()
	})
}

// The server ends a subscription by its result or by a notification: it isn't bothered again for a while.
func TestListenIsEndedByTheServer(t *testing.T) {
	ends := map[string]listenFunc{
		"result": opens(func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
			return mcp.Answer(m.ID, []byte(`{"resultType":"complete"}`)), nil
		}),
		"cancelled": opens(func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			p.Notify(ctx, mcp.Notification(mcp.NotifyCancelled, []byte(`{"requestId":`+string(m.ID)+`}`)))
			return stays(ctx, m, p)
		}),
	}
	check := func(t *testing.T, tr transport.Transport) {
		h := new(heard)
		s := connect(t, tr, h.options(Listen{Tools: true}))
		<-time.After(10 * time.Minute)
		if _, stale := h.all(); len(stale) != 1 || stale[0] < 3*time.Minute {
			t.Errorf("stale at %v", stale)
		}
		_ = s.Close()
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { check(t, listening(end, opens(stays))) }) })
	}
	for name, line := range map[string]string{
		"result over stdio":    discoverLine(`{"resultType":"complete"}`),
		"cancelled over stdio": `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				check(t, newMemory(t, modernOffering(tellsAll, func(w *wire, m *mcp.Message) {
					if n++; m.IsRequest() {
						w.say(m, note(ack, "ID", ``))
					}
					if n == 1 {
						w.say(m, line)
					}
				})))
			})
		})
	}
}

// A server that refuses isn't asked again; one that stays silent is cancelled and asked later, and keeps nobody waiting.
func TestListenIsNotAcknowledged(t *testing.T) {
	for name, c := range map[string]struct {
		line  string
		asked int
		told  int
		step  string
	}{
		"refused":  {errorLine("-32601", ""), 1, 0, "refused"},
		"fails":    {errorLine("-32603", ""), 6, 0, "no (code -32603)"},
		"silent":   {"", 3, 3, "not acknowledged yet"},
		"no ack":   {note(mcp.NotifyTools, "ID", ``), 3, 3, "not acknowledged yet"},
		"over now": {discoverLine(`{}`), 1, 0, "ended the subscription"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, told := 0, 0
				tr := newMemory(t, modernOffering(tellsAll, func(w *wire, m *mcp.Message) {
					if m.Method == mcp.NotifyCancelled {
						told++
						return
					}
					if asked++; c.line != "" {
						w.say(m, c.line)
					}
				}))
				h := new(heard)
				started := time.Now()
				s := connect(t, tr, h.options(wantAll))
				if took := time.Since(started); took > firstWait {
					t.Errorf("Connect took %v", took)
				}
				if steps := s.Info().Steps; !strings.Contains(steps[len(steps)-1].Result, c.step) {
					t.Errorf("steps %+v", steps)
				}
				<-time.After(35 * time.Second)
				_, stale := h.all()
				_ = s.Close()
				tr.running.Wait()
				if asked < c.asked-1 || asked > c.asked+1 || (told > 0) != (c.told > 0) || stale != nil {
					t.Errorf("asked %d times, told %d times, stale %v", asked, told, stale)
				}
			})
		})
	}
}

// An acknowledgement that comes after Connect makes stale what was listed meanwhile; without OnStale, changes of all
// kinds that were subscribed to are told.
func TestListenIsAcknowledgedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := listening(func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			<-time.After(3 * time.Second)
			return opens(stays)(ctx, m, p)
		})
		h := new(heard)
		o := h.options(Listen{Tools: true, Resources: true, URIs: []string{"f:ü"}})
		o.OnStale = nil
		s := connect(t, conn, o)
		<-time.After(5 * time.Second)
		lines, _ := h.all()
		want := []string{mcp.NotifyTools + " ", mcp.NotifyResources + " ", mcp.NotifyUpdated + ` {"uri":"f:ü"}`}
		if d := cmp.Diff(want, lines); d != "" {
			t.Error(d)
		}
		_ = s.Close()
	})
}

// A subscription of its own is stopped: over stdio by a notification.
func TestListenStops(t *testing.T) {
	told := make(chan string, 4)
	s := connect(t, newMemory(t, modernOffering(tellsAll, func(w *wire, m *mcp.Message) {
		if m.IsRequest() {
			w.say(m, note(ack, "ID", ``))
		}
		told <- m.Method + " " + string(mcp.Member(m.Params, "requestId"))
	})), Options{})
	stop := s.Listen(t.Context(), Listen{Tools: true})
	<-told
	stop()
	if got := <-told; !strings.HasPrefix(got, mcp.NotifyCancelled+" ") || strings.HasSuffix(got, " ") {
		t.Errorf("the server was told %s", got)
	}
}

// The same Options with a legacy server: its resources are subscribed to, once each; list_changed comes unasked.
func TestListenLegacy(t *testing.T) {
	told := make(chan string, 16)
	s := connect(t, newMemory(t, legacyOffering(tellsAll, func(w *wire, m *mcp.Message) {
		told <- m.Method + " " + string(m.Params)
		w.say(nil, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"f:\u002F"}}`)
		w.say(m, discoverLine(`{}`))
	})), Options{Listen: Listen{Tools: true, URIs: []string{"f:1"}}})
	stop1 := s.Listen(t.Context(), Listen{URIs: []string{"f:1", "f:2"}})
	s.Listen(t.Context(), Listen{Tools: true, Prompts: true}) // nothing to say
	stop1()
	want := []string{
		mcp.MethodSubscribe + ` {"uri":"f:1"}`, mcp.MethodSubscribe + ` {"uri":"f:2"}`, mcp.MethodUnsubscribe + ` {"uri":"f:2"}`,
	}
	for _, w := range want {
		if got := <-told; got != w {
			t.Errorf("the server was told %s, want %s", got, w)
		}
	}
	undeclared := connect(t, newMemory(t, legacyOffering(`{"resources":{}}`, func(_ *wire, m *mcp.Message) {
		t.Errorf("the server was told %s", m.Method)
	})), Options{Listen: wantAll})
	_ = undeclared.Close()
	if len(told) != 0 {
		t.Errorf("the server was told %s", <-told)
	}
}

// An HTTP server that knows nothing of subscriptions says so with a status alone; it isn't asked again and again.
func TestListenRefusedByStatus(t *testing.T) {
	for code, want := range map[int]int{400: 1, 404: 1, 405: 1, 501: 1, 503: 10} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			s := connect(t, newPosts(lines(map[string]string{mcp.MethodDiscover: discoverLine(`{"supportedVersions":["2026-07-28"],"capabilities":` + tellsAll + `}`)},
				func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) {
					asked++
					return nil, status(code, "")
				})), Options{Listen: wantAll})
			time.Sleep(5 * time.Minute)
			_ = s.Close()
			if asked < want || want == 1 && asked > 1 {
				t.Errorf("status %d: asked %d times", code, asked)
			}
		})
	}
}

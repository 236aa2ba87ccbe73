package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	transporthttp "github.com/usher-mcp/usher/transport/http"
)

// serveHTTP runs h on a real socket until the test ends.
func serveHTTP(t *testing.T, h http.HandlerFunc) transport.Transport {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	tr, err := transporthttp.New(transporthttp.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// post is what came, with the raw bytes of its body.
type post struct {
	*mcp.Message
	raw string
	w   http.ResponseWriter
	r   *http.Request
}

func readPost(t *testing.T, w http.ResponseWriter, r *http.Request) post {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return post{Message: &mcp.Message{}, w: w, r: r}
	}
	m, err := mcp.Parse(b)
	if err != nil {
		t.Errorf("%s: %v", b, err)
		m = new(mcp.Message)
	}
	return post{m, string(b), w, r}
}

// json answers with one object, event with one of a stream.
func (p post) json(line string) {
	p.w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(p.w, strings.ReplaceAll(line, "ID", string(p.ID)))
}

func (p post) event(line string) {
	p.w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(p.w, "data: %s\n\n", strings.ReplaceAll(line, "ID", string(p.ID)))
	p.w.(http.Flusher).Flush()
}

// B2, case-278: rounds over real sockets, with the headers of each and raw bytes both ways.
func TestInputOverHTTP(t *testing.T) {
	var got []string
	tr := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		p := readPost(t, w, r)
		if p.Method == mcp.MethodDiscover {
			p.json(discovered)
			return
		}
		if r.Header.Get("Mcp-Method") != mcp.MethodCallTool || r.Header.Get("Mcp-Name") != "=?base64?w7w=?=" {
			t.Errorf("headers %v", r.Header)
		}
		got = append(got, string(mcp.SetMember(p.Params, metaKey, nil)))
		if len(got) == 1 {
			p.event(discoverLine(`{` + needsInput + `,` + askRoots + `,` + oddState + `}`))
			return
		}
		p.event(discoverLine(`{"content":[{"n":1.0,"u":"\u002F"}],"structuredContent":[9007199254740993]}`))
	})
	s := connect(t, tr, Options{Capabilities: []byte(everything)})
	m := callTool(t, s, `{"name":"\u00fc","arguments":{"n":1.0}}`, answering(func(*mcp.Message) string { return `{"roots":[1.0]}` }))
	if string(m.Result) != `{"content":[{"n":1.0,"u":"\u002F"}],"structuredContent":[9007199254740993]}` {
		t.Errorf("got %s", m.Result)
	}
	want := []string{`{"name":"\u00fc","arguments":{"n":1.0}}`,
		`{"name":"\u00fc","arguments":{"n":1.0},"inputResponses":{"r\u002F":{"roots":[1.0]}},` + oddState + `}`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A call that is given up over modern HTTP closes its request, and nothing is posted.
func TestCancelOverModernHTTP(t *testing.T) {
	asked, closed := make(chan struct{}), make(chan struct{})
	tr := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		switch p := readPost(t, w, r); p.Method {
		case mcp.MethodDiscover:
			p.json(discovered)
		case mcp.MethodCallTool:
			close(asked)
			<-r.Context().Done()
			close(closed)
		default:
			t.Errorf("the server got %s", p.raw)
		}
	})
	s := connect(t, tr, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, nil), nil)
	wantKind(t, err, fault.Cancelled)
	<-closed
}

// A subscription over real sockets: its stream is cut, opened again, and closed with the session.
func TestListenOverHTTP(t *testing.T) {
	streams, ended := make(chan int, 4), make(chan struct{})
	n := 0
	tr := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		p := readPost(t, w, r)
		if p.Method == mcp.MethodDiscover {
			p.json(offering(discovered, tellsAll))
			return
		}
		if p.Method != mcp.MethodListen || r.Header.Get("Mcp-Method") != mcp.MethodListen {
			t.Errorf("the server got %s with %v", p.raw, r.Header)
		}
		n++
		p.event(note(ack, "ID", ``))
		p.event(note(mcp.NotifyTools, "ID", ``))
		streams <- n
		if n == 2 {
			<-r.Context().Done()
			close(ended)
		}
	})
	told, stale := make(chan string, 4), make(chan struct{}, 4)
	s := connect(t, tr, Options{Listen: Listen{Tools: true}, OnStale: func() { stale <- struct{}{} }, OnNotify: func(m *mcp.Message) { told <- m.Method }})
	for i := range 2 {
		if got := <-streams; got != i+1 {
			t.Errorf("stream %d, want %d", got, i+1)
		}
		if got := <-told; got != mcp.NotifyTools {
			t.Errorf("told %s", got)
		}
	}
	<-stale
	_ = s.Close()
	<-ended
	if len(stale) != 0 {
		t.Error("stale twice")
	}
}

// legacyHTTP is a server with a session id and a standalone stream.
type legacyHTTP struct {
	t      *testing.T
	unsaid chan string // for the standalone stream
	posted chan post   // answers and notifications
	call   func(p post)
}

func (l *legacyHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		p := post{Message: new(mcp.Message), w: w, r: r}
		p.event(`{"jsonrpc":"2.0","method":"x/opened"}`)
		for {
			select {
			case line := <-l.unsaid:
				p.event(line)
			case <-r.Context().Done():
				return
			}
		}
	case http.MethodDelete:
		return
	}
	p := readPost(l.t, w, r)
	if p.Method != mcp.MethodDiscover && p.Method != mcp.MethodInitialize &&
		(r.Header.Get("Mcp-Session-Id") != "s1" || r.Header.Get("Mcp-Protocol-Version") != mcp.Revision20251125) {
		l.t.Errorf("%s came with %v", p.raw, r.Header)
	}
	switch {
	case p.Method == mcp.MethodDiscover:
		http.Error(w, "what?", http.StatusBadRequest)
	case p.Method == mcp.MethodInitialize:
		w.Header().Set("Mcp-Session-Id", "s1")
		p.json(initialized)
	case p.IsRequest():
		l.call(p)
	default:
		w.WriteHeader(http.StatusAccepted)
		if p.Method != mcp.NotifyInitialized {
			l.posted <- p
		}
	}
}

// Legacy HTTP: a question on the stream of a call goes to its peer, one on the standalone stream to the session; the
// answers are posted. A call that is given up is told of by a POST.
func TestLegacyHTTP(t *testing.T) {
	l := &legacyHTTP{t: t, unsaid: make(chan string), posted: make(chan post, 4)}
	l.call = func(p post) {
		if mcp.Member(p.Params, "stay") != nil {
			p.event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":ID}}`)
			<-p.r.Context().Done()
			return
		}
		p.event(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"n":1.0}}`)
		answer := <-l.posted
		p.event(discoverLine(`{"told":` + string(answer.Result) + `}`))
	}
	tr := serveHTTP(t, l.ServeHTTP)
	opened := make(chan struct{})
	s := connect(t, tr, Options{
		Capabilities: []byte(everything),
		OnRequest: func(_ context.Context, m *mcp.Message) (*mcp.Message, error) {
			return mcp.Answer(m.ID, []byte(`{"session":`+string(m.Params)+`}`)), nil
		},
		OnNotify: func(m *mcp.Message) {
			if m.Method == "x/opened" {
				close(opened)
			}
		},
	})
	m := callTool(t, s, `{}`, answering(func(m *mcp.Message) string { return `{"call":` + string(m.Params) + `}` }))
	if string(m.Result) != `{"told":{"call":{"n":1.0}}}` {
		t.Errorf("got %s", m.Result)
	}
	<-opened
	l.unsaid <- ask(`"q2"`, mcp.MethodRoots, `{"n":2.0}`)
	if p := <-l.posted; p.ID != `"q2"` || string(p.Result) != `{"session":{"n":2.0}}` {
		t.Errorf("the server got %s", p.raw)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, []byte(`{"stay":1,"_meta":{"progressToken":1}}`)), cancels(cancel))
	wantKind(t, err, fault.Cancelled)
	if p := <-l.posted; p.Method != mcp.NotifyCancelled || mcp.Member(p.Params, "requestId") == nil {
		t.Errorf("the server got %s", p.raw)
	}
}

// cancels is a Peer that gives up at the first notification.
type cancels context.CancelFunc

func (c cancels) Notify(context.Context, *mcp.Message) { c() }

func (cancels) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	return mcp.Nobody.Request(ctx, m)
}

// The lists of a real server are asked for page by page.
func TestListsOverHTTP(t *testing.T) {
	tr := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		p := readPost(t, w, r)
		switch {
		case p.Method == mcp.MethodDiscover:
			p.json(offering(discovered, allKinds))
		case p.Method == mcp.MethodListResourceTemplates:
			w.WriteHeader(http.StatusNotFound)
			p.json(unknownMethod)
		case mcp.Member(p.Params, "cursor") == nil:
			p.json(discoverLine(`{"resources":[{"uri":"a:"}],"nextCursor":"\u002F","ttlMs":60000,"cacheScope":"public"}`))
		default:
			p.event(discoverLine(`{"resources":[{"uri":"b:"}],"ttlMs":1000,"cacheScope":"public"}`))
		}
	})
	s := connect(t, tr, Options{})
	if l, err := s.ListResources(t.Context()); err != nil || len(l.Items) != 2 || l.TTL != time.Second || l.Private {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := s.ListResourceTemplates(t.Context()); err != nil || l.Items != nil {
		t.Errorf("%+v, %v", l, err)
	}
}

package gosdk

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The suite needs a server that answers unknown methods and keeps every byte, which the SDK's doesn't. So a Handler
// stands at the SDK's end of the link here; the SDK's server is what sdk_test.go tests.
func TestTransport(t *testing.T) {
	transporttest.Run(t, func(_ *testing.T, h mcp.Handler) transport.Transport { return handlerAtTheEnd{h} })
}

type handlerAtTheEnd struct{ h mcp.Handler }

func (t handlerAtTheEnd) Connect(context.Context) (transport.Conn, error) {
	l := newLink()
	end, err := l.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	c := &conn{link: l, of: new(inProcess), ended: make(chan struct{})}
	s := &served{h: t.h, end: end, running: map[mcp.ID]context.CancelFunc{}, asked: map[mcp.ID]chan *mcp.Message{}}
	go func() {
		defer close(c.ended)
		s.serve()
	}()
	return c, nil
}

// served runs a Handler at the SDK's end of a link.
type served struct {
	h       mcp.Handler
	end     sdk.Connection
	calls   sync.WaitGroup
	mu      sync.Mutex
	running map[mcp.ID]context.CancelFunc
	asked   map[mcp.ID]chan *mcp.Message
}

var _ mcp.Peer = (*served)(nil)

func (s *served) serve() {
	ctx, cancel := context.WithCancel(context.Background())
	defer s.end.Close()
	defer s.calls.Wait()
	defer cancel()
	for {
		theirs, err := s.end.Read(context.Background())
		if err != nil {
			return
		}
		m, err := fromSDK(theirs)
		if err != nil {
			panic(err)
		}
		switch {
		case m.IsRequest():
			ctx, cancel := context.WithCancel(ctx)
			s.mu.Lock()
			s.running[m.ID] = cancel
			s.mu.Unlock()
			s.calls.Go(func() { defer cancel(); s.answer(ctx, m) })
		case m.Method == mcp.NotifyCancelled:
			s.mu.Lock()
			s.running[mcp.ID(mcp.Member(m.Params, "requestId"))]()
			s.mu.Unlock()
		case m.IsNotification():
			_, _ = s.h.Handle(ctx, m, s)
		default:
			s.mu.Lock()
			s.asked[m.ID] <- m
			s.mu.Unlock()
		}
	}
}

func (s *served) answer(ctx context.Context, m *mcp.Message) {
	a, err := func() (a *mcp.Message, err error) {
		defer func() {
			if recover() != nil {
				err = errors.New("panic")
			}
		}()
		return s.h.Handle(ctx, m, s)
	}()
	if err != nil {
		a = mcp.ErrorAnswer(m.ID, mcp.CodeInternal, err.Error(), nil)
	}
	s.write(a)
}

func (s *served) write(m *mcp.Message) {
	theirs, err := toSDK(m)
	if err != nil {
		panic(err)
	}
	_ = s.end.Write(context.Background(), theirs)
}

func (s *served) Notify(_ context.Context, m *mcp.Message) { s.write(m) }

func (s *served) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	c := make(chan *mcp.Message, 1)
	s.mu.Lock()
	s.asked[m.ID] = c
	s.mu.Unlock()
	s.write(m)
	select {
	case a := <-c:
		return a, nil
	case <-ctx.Done():
		return nil, io.ErrUnexpectedEOF
	}
}

func TestIDs(t *testing.T) {
	for id, want := range map[mcp.ID]mcp.ID{
		"7": "7", "-1": "-1", "9007199254740992": "9007199254740992", `"a\"ü"`: `"a\"ü"`, `""`: `""`, `"\u0061"`: `"a"`, "": "",
	} {
		theirs, err := idToSDK(id)
		if got := idFromSDK(theirs); err != nil || got != want {
			t.Errorf("%s came back as %s, %v", id, got, err)
		}
	}
	l := newLink()
	for _, id := range []mcp.ID{"9007199254740993", "1.5", "1e3", "true", "null"} {
		if err := l.Send(t.Context(), mcp.Request(id, "x", nil)); !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("the id %s: %v", id, err)
		}
	}
}

// What the SDK makes of its errors is what we read.
func TestErrors(t *testing.T) {
	id, err := jsonrpc.MakeID("a")
	if err != nil {
		t.Fatal(err)
	}
	m, err := fromSDK(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: -32042, Message: "<no>", Data: []byte(`{"n":1.0}`)}})
	if err != nil || string(m.Error) != `{"code":-32042,"message":"<no>","data":{"n":1.0}}` || m.ID != `"a"` {
		t.Errorf("got %+v %s, %v", m, m.Error, err)
	}
	theirs, err := toSDK(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := fromSDK(theirs)
	if err != nil || string(again.Error) != string(m.Error) {
		t.Errorf("came back as %s, %v", again.Error, err)
	}
	if _, err := toSDK(&mcp.Message{ID: "1", Error: []byte(`"no"`)}); err == nil {
		t.Error("an error that is a string was taken")
	}
}

package upstream

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/local"
)

// listing answers tools/list with what page says for the nth request.
func listing(page func(n int64) *mcp.Message) mcp.Handler {
	var n atomic.Int64
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		if req.Method != mcp.MethodListTools {
			return echo(ctx, req, p)
		}
		m := page(n.Add(1))
		m.ID = req.ID
		return m, nil
	})
}

func broken() *mcp.Message { return mcp.ErrorAnswer("", mcp.CodeInternal, "out of order", nil) }

func tools(raw string) *mcp.Message { return &mcp.Message{Result: json.RawMessage(raw)} }

// A server that can't be listed is no use: it is dialled anew.
func TestFirstListingFails(t *testing.T) {
	s := start(t, Options{
		Transport: local.New(listing(func(n int64) *mcp.Message {
			if n == 1 {
				return broken()
			}
			return tools(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
		})),
	})
	err := s.Ready(t.Context())
	if listed := len(s.o.Shelf.Entry().Tools.Items); err != nil || listed != 1 || s.Status().Restarts != 0 {
		t.Errorf("%v, %d tools", err, listed)
	}
}

// E6: a failed refresh, or a part of one, keeps the old list.
func TestRefreshFails(t *testing.T) {
	s := start(t, Options{
		Transport: local.New(listing(func(n int64) *mcp.Message {
			switch n {
			case 1:
				return tools(`{"tools":[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{}}]}`)
			case 2:
				return tools(`{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"x"}`)
			case 3:
				return broken()
			}
			return tools(`{"tools":[{"name":"c","inputSchema":{}}]}`)
		})),
	})
	count := func() int { return len(s.o.Shelf.Entry().Tools.Items) }
	if err := s.Ready(t.Context()); err != nil || count() != 2 {
		t.Fatal(err)
	}
	l := s.main.current()
	if err := s.listOne(t.Context(), l, catalog.Tools); err == nil || count() != 2 {
		t.Errorf("half a list was taken: %v", err)
	}
	if err := s.listOne(t.Context(), l, catalog.Tools); err != nil || count() != 1 {
		t.Errorf("a whole one wasn't: %v", err)
	}
}

// A5: log messages of a server are few and short in ours, however many and long it sends.
func TestLogFlood(t *testing.T) {
	var got []event.ServerLog
	s := start(t, Options{Transport: local.New(echo), Record: func(all ...event.Data) {
		for _, d := range all {
			if l, ok := d.(event.ServerLog); ok {
				got = append(got, l)
			}
		}
	}, Redact: func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "token-1234", "[redacted:1]")) }})
	big := string(mcp.Quote(strings.Repeat("x", 500) + "token-1234" + strings.Repeat("x", 64<<10)))
	m := mcp.Notification(mcp.NotifyMessage, json.RawMessage(`{"level":`+big+`,"logger":`+big+`,"data":`+big+`}`))
	begun := time.Now()
	for range 1000 {
		s.notified(m)
	}
	if most := perSecond * (int(time.Since(begun).Seconds()) + 2); len(got) == 0 || len(got) > most {
		t.Errorf("%d messages in %v", len(got), time.Since(begun))
	}
	for _, l := range got {
		if all := l.Level + l.Logger + l.Message; len(all) > 1<<10 || strings.Contains(all, "token-") {
			t.Errorf("%d bytes: %s", len(all), all[len(all)-60:])
		}
	}
}

// C5: a server that can only be listed in part comes up again after its end, with what was known of it.
func TestReconnectWithHalfAList(t *testing.T) {
	s := start(t, Options{
		Transport: local.New(listing(func(n int64) *mcp.Message {
			if n%2 == 0 {
				return broken()
			}
			return tools(`{"tools":[{"name":"echo","inputSchema":{}}],"nextCursor":"x"}`)
		})),
	})
	for range 3 {
		if _, err := ask(t.Context(), s, "echo"); err != nil {
			t.Fatal(err)
		}
		s.main.drop(s.main.current(), "a test", false)
	}
}

// A5, case-204: a server that tells without end that its list changed is asked at most once a second.
func TestListChangedFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		o := options("ws", local.New(echo))
		o.OnOffer = func() { lists.Add(1) }
		s := New(t.Context(), o)
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			s.notified(mcp.Notification(mcp.NotifyTools, nil))
			time.Sleep(10 * time.Millisecond) // of fake time: ten seconds in all
		}
		if n := lists.Load(); n < 5 || n > 15 {
			t.Errorf("%d listings in ten seconds", n)
		}
		s.Close("closed")
	})
}

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
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/local"
)

// lister answers tools/list with what page says for the nth request.
func lister(page func(n int64) *mcp.Message) mcp.Handler {
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

// A server that can't be listed is no use: it counts as down, says why, and the next call tries again.
func TestFirstListingFails(t *testing.T) {
	var listed int
	s := start(t, Options{
		Transport: local.New(lister(func(n int64) *mcp.Message {
			if n == 1 {
				return broken()
			}
			return tools(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
		})),
		OnTools: func(all []mcp.Tool) { listed = len(all) },
	})
	err := s.Ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), "out of order") || s.Status().State != Down {
		t.Errorf("the first time: %v, %v", err, s.Status().State)
	}
	if err := s.Ready(t.Context()); err != nil || listed != 1 {
		t.Errorf("the second time: %v, %d tools", err, listed)
	}
}

// E6: a failed refresh, or a part of one, keeps the old list.
func TestRefreshFails(t *testing.T) {
	lists := make(chan int, 10)
	s := start(t, Options{
		Transport: local.New(lister(func(n int64) *mcp.Message {
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
		OnTools: func(all []mcp.Tool) { lists <- len(all) },
	})
	if err := s.Ready(t.Context()); err != nil || <-lists != 2 {
		t.Fatal(err)
	}
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if err := s.list(t.Context(), session); err == nil || len(lists) != 0 {
		t.Errorf("half a list was handed on: %v", err)
	}
	if err := s.list(t.Context(), session); err != nil || <-lists != 1 {
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
		Transport: local.New(lister(func(n int64) *mcp.Message {
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
		s.mu.Lock()
		session := s.session
		s.mu.Unlock()
		s.drop(session)
	}
}

// A5: a server that tells without end that its list changed is asked at most once a second.
func TestListChangedFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		s := New(t.Context(), Options{Name: "s", Transport: local.New(echo), OnTools: func([]mcp.Tool) { lists.Add(1) }})
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
		_ = s.Close()
	})
}

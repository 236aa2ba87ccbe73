package http

import (
	"errors"
	nethttp "net/http"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// Some servers answer on whatever stream they have; that of sse-retry in the conformance suite does.
func TestAnswerOnStandalone(t *testing.T) {
	for name, x := range map[string]struct{ answer, result string }{
		"usable":     {`{"jsonrpc":"2.0","id":7,"result":{"by":"another"}}`, `{"by":"another"}`},
		"unreadable": {`{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}`, ""},
	} {
		for _, begun := range []bool{true, false} { // whether the stream of the POST has begun
			asked := make(chan struct{})
			l := newLegacy(func(_ int, w nethttp.ResponseWriter, r *nethttp.Request) {
				send := startEvents(w)
				<-asked
				send(`{"jsonrpc":"2.0","id":8,"result":{}}`) // nobody's
				send(x.answer)
				send(notice(1))
				<-r.Context().Done()
			})
			l.call = func(w nethttp.ResponseWriter, r *nethttp.Request, _ *mcp.Message) {
				if begun {
					startEvents(w)
				}
				close(asked)
				<-r.Context().Done()
			}
			c := greet(t, serve(t, l.ServeHTTP).URL)
			got := make(chan mcp.ID, 1)
			go func() { got <- receive(t, c).ID }()
			m, err := c.Handle(within(t, 10*time.Second), call(7), mcp.Nobody)
			broken, _ := errors.AsType[*transport.Broken](err)
			switch {
			case x.result != "" && (err != nil || string(m.Result) != x.result),
				x.result == "" && (broken == nil || broken.Message.ID != "7"):
				t.Errorf("%s, begun %v: %+v, %v", name, begun, m, err)
			}
			if id := <-got; id != "8" {
				t.Errorf("%s: Receive got the answer %s", name, id)
			}
			if m := receive(t, c); m.Method != "notifications/test" {
				t.Errorf("%s: Receive got %+v", name, m)
			}
			if n := len(c.elsewhere.open); n != 0 {
				t.Errorf("%s: %d requests are still waited for", name, n)
			}
		}
	}
}

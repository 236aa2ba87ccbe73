package upstream

// C8, E6: usher ends while a server is being listed for the first time. What came of the list until then must not be kept
// as what the server offers: it goes to the disk, and the next usher offers that part and waits for nothing.

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/local"
)

func TestClosedWhileListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			if req.Method != mcp.MethodListTools {
				return echo(ctx, req, p)
			}
			if mcp.Member(req.Params, "cursor") == nil {
				return mcp.Answer(req.ID, json.RawMessage(`{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"x"}`)), nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		s := New(t.Context(), options("stdio", local.New(h)))
		s.Start()
		synctest.Wait()
		s.Close("closed")
		if e := s.o.Shelf.Entry().Tools; !e.Listed.IsZero() {
			t.Errorf("kept as its list: %d tools, complete: %v", len(e.Items), e.Complete)
		}
	})
}

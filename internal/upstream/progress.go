package upstream

import (
	"context"

	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

// askProgress has the server report progress on a call of a tool whose caller didn't ask for it: a server that is never
// asked reports nothing, and a call that goes well would run into its time limit (case-186). It returns the request with
// a token, and a peer for beginPatience that keeps the reports from p. Other requests, and those of callers that want
// progress, come back as they are.
func askProgress(req *mcp.Message, p mcp.Peer) (*mcp.Message, mcp.Peer) {
	if req.Method != mcp.MethodCallTool {
		return req, p
	}
	meta := mcp.Member(req.Params, "_meta")
	if mcp.Member(meta, mcp.MetaProgress) != nil || len(meta) > 0 && meta[0] != '{' {
		return req, p
	}
	if len(meta) == 0 {
		meta = []byte("{}")
	}
	m := *req // the client puts a token of its own in place of ours
	m.Params = mcp.SetMember(req.Params, "_meta", mcp.SetMember(meta, mcp.MetaProgress, []byte("0")))
	if p == nil {
		p = mcp.Nobody
	}
	if t, ok := p.(client.Termed); ok {
		return &m, termedDeaf{deaf{p}, t}
	}
	return &m, deaf{p}
}

// deaf is a Peer that doesn't hear of progress.
type deaf struct{ mcp.Peer }

var _ mcp.Peer = deaf{}

// Notify passes on all but progress.
func (d deaf) Notify(ctx context.Context, m *mcp.Message) {
	if m.Method != mcp.NotifyProgress {
		d.Peer.Notify(ctx, m)
	}
}

type termedDeaf struct {
	deaf
	client.Termed
}

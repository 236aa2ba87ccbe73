package client

import (
	"context"

	"github.com/usher-mcp/usher/mcp"
)

// Ping asks whether the server is still there, with ping or, of a modern server, which has no such method,
// server/discover. Whatever it answers, it is; the error, as of Handle, says why it isn't, or that ctx ended.
func (s *Session) Ping(ctx context.Context) error {
	method := mcp.MethodPing
	if s.way.info.Era == mcp.Modern {
		method = mcp.MethodDiscover
	}
	_, err := s.Handle(ctx, mcp.Request("0", method, nil), mcp.Nobody)
	return err
}

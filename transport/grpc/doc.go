// Package grpc carries MCP over gRPC: a stream in both directions for each session, and in each frame one JSON-RPC
// message, byte for byte (proto/usher/mcp/v1/mcp.proto is the specification). [New] is the client end, [NewServer] the
// server end, with health checks and reflection.
//
// It bounds what it reads and holds, and notices a peer that is gone. It knows no eras, gives out no ids but for what a
// server asks, connects nothing a second time, and doesn't speak any other binding of MCP to gRPC.
package grpc

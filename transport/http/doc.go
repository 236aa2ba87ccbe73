// Package http carries MCP over Streamable HTTP in both eras: each message is a POST, and its answer is one JSON object
// or a stream of events. This is the client end.
//
// It knows no revision: what a request repeats in headers comes with it (mcp.Mirror). It keeps the session id that a
// legacy server gives, nothing else. It never sends a message a second time, follows no redirect to another host, asks
// for no authorization, and doesn't open the standalone GET stream nor resume a stream that was cut.
package http

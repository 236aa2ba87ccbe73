// Package http carries MCP over Streamable HTTP in both eras: each message is a POST, and its answer is one JSON object
// or a stream of events. This is the client end, over TCP or a Unix socket.
//
// In the legacy era it also reads the standalone stream of what a server sends unasked, and resumes by GET a stream that
// ended before its answer, if the server gave its events ids. It keeps the session id that a legacy server gives.
//
// It never sends a message a second time, follows no redirect to another host, asks for no authorization (Options.Client
// may), and makes no handshake anew. Which revision is spoken comes with the messages (mcp.Mirror), as does what they
// repeat in headers.
package http

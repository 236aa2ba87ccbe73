// Package client is one MCP session over one transport.Conn. It finds out which era the server speaks, shakes hands in
// its way, maps request ids and progress tokens, and replaces this hop's own `_meta` keys; every other byte of a
// request and of its answer passes as it is. What the eras do differently looks alike above it: questions of the server
// (requests of its own, or input_required results), subscriptions, cancellation, tasks. To the rest of Usher a Session
// is an mcp.Handler that has no era.
//
// It sends a request a second time only where the server asked for that: for its headers, for input, or to follow a
// task. It restarts nothing, keeps no catalogue and no cache, decides no permission, and answers no question by itself
// but a ping: who is asked, and what the server may ask, is its caller's business.
package client

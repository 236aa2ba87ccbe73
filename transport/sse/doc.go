// Package sse carries MCP over HTTP with server-sent events, the transport of revision 2024-11-05 ("HTTP with SSE"): one
// GET opens a stream of all that the server says, and its first event names the address to which the client posts.
// [New] is the client end, [NewServer] the server end.
//
// It knows no eras. It follows no redirect and no endpoint to another origin, asks for no authorization, never sends a
// message a second time, and doesn't resume a stream: this transport can't. The server end doesn't look at Host and
// Origin: who mounts it does.
package sse

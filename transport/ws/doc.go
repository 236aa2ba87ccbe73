// Package ws carries MCP messages over WebSocket (RFC 6455), one message of JSON in each text message, under the
// subprotocol "mcp". No revision of MCP defines that; docs/decisions/008-websocket.md says what Usher does. [New] is the
// client end; [NewServer] is the server end, an HTTP handler.
//
// It bounds what it reads, notices a peer that is gone, and says with a close code why it ends. Cancellation and all
// else is as over stdio: the messages are the same in both eras. It knows no eras and no sessions, compresses nothing,
// and connects no second time.
package ws

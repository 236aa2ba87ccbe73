// Package eventstream reads streams of server-sent events (WHATWG HTML, "Server-sent events"), as MCP servers send them.
//
// It bounds what it keeps. It opens nothing, never reconnects and doesn't know what an event means.
package eventstream

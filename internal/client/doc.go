// Package client is one MCP session over one transport.Conn. It finds out which era the server speaks, shakes hands in
// its way, maps request ids and progress tokens, and replaces this hop's own `_meta` keys; every other byte of a
// request and of its answer passes as it is. To the rest of Usher a Session is an mcp.Handler that has no era.
//
// It never sends a request a second time, but for one that a server refused for its headers before running it. It
// restarts nothing, keeps no catalogue, decides no permission and, for now, answers nothing that a server asks: it
// declares no client capabilities.
package client

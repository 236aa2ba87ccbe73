// Package stdio carries MCP messages over the standard streams of a process, one line of JSON each (section
// "Transports", "stdio", alike in all revisions). [New] is the client end, which starts a server as a child;
// [Serve] is the server end, which is one.
//
// It bounds what it reads, skips and counts what is no message, and ends what it started. It knows no eras and no
// sessions, gives out no ids but for what a server asks, and starts nothing a second time.
package stdio

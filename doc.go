// Package usher is the MCP layer that an agent stands on: it connects the agent to many untrusted MCP servers, lets
// each call in or keeps it out, and records every step.
//
// Open makes a Host from its parts: servers, a policy, an event log. Package standard makes one from a configuration
// file, as the usher command does. A Session is one agent's way through the host; it is an mcp.Handler.
//
//	host, err := standard.Open(ctx, standard.Options{})
//	…
//	defer host.Close()
//	session, err := host.Session(usher.SessionOptions{Client: "my agent"})
//	…
//	result, err := session.Call(ctx, "mcp.fs.read_text_file", []byte(`{"path":"README.md"}`))
//
// Every call takes the one path of Session.do: resolve the name, decide, perform, inspect, answer. Nothing reaches a
// server around it.
package usher

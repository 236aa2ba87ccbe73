// Package gateway is usher as an MCP server: it lets other agents use the tools of a Host, over Streamable HTTP (both
// eras on one URL), WebSocket, gRPC, the HTTP+SSE of 2024-11-05, and stdio.
//
// It speaks the protocol and keeps the clients apart; each client has an usher.Session, and all that a client asks for
// goes through Session.Handle and no other way. It decides nothing about a call, reaches no server itself, listens on
// no port (the caller has the http.Server and the listeners), and authenticates nobody yet.
//
// Not offered yet: the GET stream and resumption, subscriptions/listen, resources, prompts, logging, questions to the
// client.
package gateway

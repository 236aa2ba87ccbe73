// Package condition implements the conditions of rules (`when`) in CEL, the Common Expression Language
// (https://cel.dev). A Compiler reads their text once; a Condition decides about calls.
//
// What a condition can name:
//
//	server, tool      strings; server is empty for a local tool
//	source            the source of the configuration that the server is from: "user", "project", …
//	args              the arguments. A name that isn't there is an error: ask has(args.path) first. Numbers without a
//	                  fraction keep all their digits
//	risk              compares with read < write < network < execute < destructive: `risk >= network`,
//	                  `risk in [write, network]`; the names may be quoted
//	annotations       title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint, as the server says, trusted or
//	                  not; one that it doesn't say is as the MCP specification has it. has(annotations.readOnlyHint)
//	                  tells whether it says so
//	session           id, kind, mode ("default", "plan", …), labels (a list: "untrusted" in session.labels)
//	client, principal strings
//
// and CEL's own operators, macros and functions; the pattern of matches() has to be written out. A condition is at most
// MaxSource bytes, and what it costs to evaluate is limited.
//
// The package doesn't decide what a condition that fails means: package permission does.
package condition

package client

import (
	"encoding/json"

	"github.com/usher-mcp/usher/mcp"
)

// Terms are what a server may count on for one request.
type Terms struct {
	// Capabilities is the raw ClientCapabilities object that is declared; nil or empty: none.
	Capabilities json.RawMessage
	// PassInput returns an `input_required` result as it is, instead of asking the Peer and calling again.
	PassInput bool
	// PassTask returns a `task` result as it is, instead of waiting for the task's end.
	PassTask bool
}

// A Termed is a Peer that brings its own terms: with a modern server, they hold for its request in place of those in
// Options. A legacy server was told ours once, in the handshake.
type Termed interface{ Terms() Terms }

// declared is Terms as the server's questions are held against them.
type declared struct {
	Terms
	sampling, samplingTools bool
	form, url               bool
	roots, tasks            bool
}

func declare(t Terms) declared {
	c := t.Capabilities
	d := declared{Terms: t}
	if s := mcp.Member(c, "sampling"); isGiven(s) {
		d.sampling, d.samplingTools = true, isGiven(mcp.Member(s, "tools"))
	}
	if e := mcp.Member(c, "elicitation"); isGiven(e) {
		d.form, d.url = isGiven(mcp.Member(e, "form")), isGiven(mcp.Member(e, "url"))
		d.form = d.form || !d.url // {} means forms, as before there were modes
	}
	d.roots = isGiven(mcp.Member(c, "roots"))
	d.tasks = isGiven(mcp.Path(c, "extensions", mcp.ExtensionTasks))
	return d
}

// isGiven tells an object: a capability is declared by one, be it empty.
func isGiven(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// permits returns nil if a server may ask m, else the JSON-RPC error for it (2025-11-25, "Elicitation", "Sampling").
func (d *declared) permits(method string, params json.RawMessage) *mcp.Error {
	known, why := false, ""
	switch method {
	case mcp.MethodSample:
		known = d.sampling
		if !d.samplingTools && (mcp.Member(params, "tools") != nil || mcp.Member(params, "toolChoice") != nil) {
			why = "this client didn't declare sampling with tools"
		}
	case mcp.MethodElicit:
		known = d.form || d.url
		why = d.refusesMode(mcp.Member(params, "mode"))
	case mcp.MethodRoots:
		known = d.roots
	}
	switch {
	case !known:
		return &mcp.Error{Code: mcp.CodeMethodNotFound, Message: "this client declared no such capability: " + clean(method)}
	case why != "":
		return &mcp.Error{Code: mcp.CodeInvalidParams, Message: why}
	}
	return nil
}

func (d *declared) refusesMode(mode json.RawMessage) string {
	switch m := mcp.Text(mode); {
	case m == "form" && d.form, m == "url" && d.url, mode == nil && d.form:
		return ""
	case mode == nil:
		return `this client didn't declare elicitation in the mode "form"`
	case m == "":
		return `the "mode" of an elicitation must be a string`
	default:
		return `this client didn't declare elicitation in the mode "` + clean(m) + `"`
	}
}

package cli

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
)

// question is one of the decision tree for choosing a transport (B10). Where it ends, leaf is set.
type question struct {
	text    string
	yes, no *question
	leaf    string // the transports
}

func decisionTree() *question {
	return &question{
		text: "on another machine?",
		yes: &question{
			text: "must both sides speak at any time?",
			yes:  &question{leaf: "ws"},
			no: &question{
				text: "a mesh or a contract of gRPC?",
				yes:  &question{leaf: "grpc"},
				no:   &question{leaf: "http (sse, if it is of 2024-11-05)"},
			},
		},
		no: &question{
			text: "kept apart from usher?",
			yes: &question{
				text: "does it run already, at a port or a socket?",
				yes:  &question{leaf: "http, ws, grpc or sse: what it speaks"},
				no:   &question{leaf: "stdio"},
			},
			no: &question{leaf: "local (inside a Go program)"},
		},
	}
}

// branch is the answers that lead to a transport, y and n. near: the server is on this machine.
func branch(transport string, near bool) string {
	switch {
	case transport == config.TransportStdio:
		return "nyn"
	case near:
		return "nyy"
	case transport == config.TransportWS:
		return "yy"
	case transport == config.TransportGRPC:
		return "yny"
	}
	return "ynn"
}

// branchLine is a line of the tree; taken says whether it leads to the transport.
type branchLine struct {
	text  string
	taken bool
}

// drawn draws a tree. answers is what is left of the branch that was taken; on says whether this part is on it.
func drawn(q *question, head, indent, answers string, on bool) []branchLine {
	all := []branchLine{{head + q.text + q.leaf, on}}
	if q.leaf != "" {
		return all
	}
	for _, way := range []struct {
		sign, head, indent string
		next               *question
	}{{"y", "├─ yes: ", "│       ", q.yes}, {"n", "└─ no:  ", "        ", q.no}} {
		rest, taken := strings.CutPrefix(answers, way.sign)
		all = append(all, drawn(way.next, indent+way.head, indent+way.indent, rest, on && taken)...)
	}
	return all
}

// decision tells a branch in words, such as "on another machine? no".
func decision(answers string) []string {
	var all []string
	q := decisionTree()
	for _, answer := range answers {
		if answer == 'y' {
			all, q = append(all, q.text+" yes"), q.yes
		} else {
			all, q = append(all, q.text+" no"), q.no
		}
	}
	return append(all, q.leaf)
}

// chosen says from what the transport follows.
func chosen(c config.Server, s usher.ServerStatus) string {
	scheme, _, _ := strings.Cut(c.URL, ":")
	switch {
	case !c.Inferred:
		return `its entry says so by "type"`
	case c.Transport == config.TransportStdio:
		return `its entry has a "command"`
	case c.Transport == config.TransportWS, c.Transport == config.TransportGRPC:
		return "its url begins with " + strings.ToLower(scheme) + "://"
	case s.Fallback:
		return `its entry has a "url" and no "type": http came first, but ` + s.Why
	}
	return `its entry has a "url" and no "type"`
}

// isHere reports whether a remote server is on this machine.
func isHere(c config.Server) bool {
	u, err := url.Parse(c.URL)
	if err != nil || c.URL == "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "unix" || strings.EqualFold(u.Hostname(), "localhost") || err == nil && ip.Unmap().IsLoopback()
}

package cli

import (
	"strings"
	"testing"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
)

// B10: each transport has its place in the tree, and the lines that are marked lead there.
func TestDecision(t *testing.T) {
	for _, c := range []struct {
		transport, leaf string
		near            bool
		lines           int
	}{
		{config.TransportStdio, "stdio", false, 4},
		{config.TransportHTTP, "http", false, 4},
		{config.TransportSSE, "sse", false, 4},
		{config.TransportWS, "ws", false, 3},
		{config.TransportGRPC, "grpc", false, 4},
		{config.TransportHTTP, "http, ws", true, 4},
		{config.TransportGRPC, "grpc or", true, 4},
	} {
		marked, leaf := 0, ""
		answers := branch(c.transport, c.near)
		for _, b := range drawn(decisionTree(), "", "", answers, true) {
			if b.taken {
				marked, leaf = marked+1, b.text
			}
		}
		if marked != c.lines || !strings.Contains(leaf, c.leaf) {
			t.Errorf("%+v: %d lines marked, the last one %q", c, marked, leaf)
		}
		words := decision(answers)
		if len(words) != c.lines || !strings.Contains(words[c.lines-1], c.leaf) || strings.HasSuffix(words[0], "yes") == (c.near || c.transport == config.TransportStdio) {
			t.Errorf("%+v: %q", c, words)
		}
	}
}

// B10: from what a transport follows.
func TestChosen(t *testing.T) {
	for want, c := range map[string]config.Server{
		`its entry says so by "type"`:             {Transport: "sse", URL: "https://x"},
		`its entry has a "command"`:               {Transport: "stdio", Command: "x", Inferred: true},
		"its url begins with wss://":              {Transport: "ws", URL: "WSS://x", Inferred: true},
		"its url begins with grpc://":             {Transport: "grpc", URL: "grpc://x:1", Inferred: true},
		`its entry has a "url" and no "type"`:     {Transport: "http", URL: "https://x", Inferred: true},
		`http came first, but it answered by 404`: {Transport: "http", URL: "http://x", Inferred: true},
	} {
		s := usher.ServerStatus{Fallback: strings.HasPrefix(want, "http"), Why: "it answered by 404"}
		if got := chosen(c, s); !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for url, want := range map[string]bool{
		"http://127.0.0.1:1/": true, "ws://LocalHost/": true, "grpc://[::1]:1": true, "unix:///x.sock": true, "https://x": false, "http://10.0.0.1": false, "": false, "::": false,
	} {
		if isHere(config.Server{URL: url}) != want {
			t.Error(url)
		}
	}
}

func TestDeclared(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`: "nothing: no tools, no resources, no prompts",
		``:   "nothing: no tools, no resources, no prompts",
		`{"tools":{"listChanged":false},"resources":{"subscribe":true,"listChanged":true},"x\u001b":7}`: `tools, resources (subscribe, listChanged), x\x1b`,
	} {
		if got := declared([]byte(raw)); got != want {
			t.Errorf("%s: %q", raw, got)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

// defaultTools is what a server offers that isn't given others. No tool gets a risk that its hints don't claim.
const defaultTools = `[
	{"name": "look", "description": "Reads.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true, "openWorldHint": false}},
	{"name": "run", "description": "Starts a program.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true, "openWorldHint": false}},
	{"name": "put", "description": "Writes a file.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true, "openWorldHint": false}},
	{"name": "write", "description": "Writes.", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": false, "openWorldHint": false}},
	{"name": "destroy", "description": "Deletes.", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true}},
	{"name": "bare", "description": "Says nothing of itself.", "inputSchema": {"type": "object"}}
]`

// server speaks over stdin and stdout. Its journal gets a line for its start, and one for each call that reached it.
func server(args []string) {
	f := flag.NewFlagSet("puppet", flag.ContinueOnError)
	journal := f.String("journal", "", "file for what happened")
	tools := f.String("tools", "", "file with the list of tools, read at each start")
	_ = f.Parse(args) // what isn't a flag is only written down
	note := func(what string, detail any) {
		b, _ := json.Marshal(detail)
		out, err := os.OpenFile(*journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			os.Exit(1)
		}
		defer out.Close()
		fmt.Fprintf(out, "%s %s\n", what, b)
	}
	list := json.RawMessage(defaultTools)
	if *tools != "" {
		if b, err := os.ReadFile(*tools); err == nil {
			list = b
		}
	}
	note("start", os.Args)
	send := func(m message) {
		m.JSONRPC = "2.0"
		b, _ := json.Marshal(m)
		_, _ = os.Stdout.Write(append(b, '\n'))
	}
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			send(message{ID: m.ID, Result: map[string]any{
				"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "puppet", "version": "1"},
			}})
		case "tools/list":
			send(message{ID: m.ID, Result: map[string]any{"tools": list}})
		case "tools/call":
			var c call
			_ = json.Unmarshal(m.Params, &c)
			var compact bytes.Buffer
			_ = json.Compact(&compact, c.Arguments)
			note("call", []any{c.Name, json.RawMessage(compact.Bytes())})
			send(message{ID: m.ID, Result: map[string]any{"content": []any{map[string]any{"type": "text", "text": c.answer()}}}})
		default:
			send(message{ID: m.ID, Error: map[string]any{"code": -32601, "message": "Method not found"}})
		}
	}
}

type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (c call) answer() string {
	var a struct {
		How        string
		Argv       []string
		File, Text string
	}
	_ = json.Unmarshal(c.Arguments, &a)
	switch c.Name {
	case "run":
		b, _ := json.Marshal(run(a.How, a.Argv))
		return string(b)
	case "put":
		if err := os.WriteFile(a.File, []byte(a.Text), 0o600); err != nil {
			return err.Error()
		}
	}
	return "done"
}

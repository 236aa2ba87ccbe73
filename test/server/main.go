// Command server is an MCP server for tests: small, legacy, over stdio, and honest about what reached it. Each tools/call
// that it gets is first a line in the file that -journal names, synced to disk.
//
// Flags make it misbehave: it is how tests see a server that is silent, dies, breaks its answers, or leaves processes behind.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	journal  = flag.String("journal", "", "file that gets a line for each call, synced before the call runs")
	banner   = flag.Bool("banner", false, "print a line that is no message first")
	silent   = flag.Bool("silent", false, "answer nothing")
	exitCode = flag.Int("exit", -1, "exit at once with this code")
	broken   = flag.Bool("broken", false, "break the answer to echo in the way that its text names: "+strings.Join(ways, ", "))
	orphan   = flag.String("orphan", "", "start a child that leaves the session and the process group, and write its pid to this file")
)

// ways are how -broken breaks an answer; any other text is answered well.
var ways = []string{"duplicate", "utf8", "deep", "long", "stray", "never"}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

type call struct {
	Name      string `json:"name"`
	Arguments struct {
		Key, Text, ID string
	} `json:"arguments"`
}

func main() {
	flag.Parse()
	if *exitCode >= 0 {
		fmt.Fprintln(os.Stderr, "JIRA_TOKEN is not set")
		os.Exit(*exitCode)
	}
	if *orphan != "" {
		startOrphan(*orphan)
	}
	if *banner {
		fmt.Println("Test server is starting…")
	}
	serve()
}

// serve answers one request after the other, but for the tool "slow".
func serve() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	var out sync.Mutex
	send := func(m message) {
		m.JSONRPC = "2.0"
		line, _ := json.Marshal(m)
		out.Lock()
		defer out.Unlock()
		_, _ = os.Stdout.Write(append(line, '\n'))
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil || m.ID == nil || *silent {
			continue
		}
		switch m.Method {
		case "initialize":
			send(message{ID: m.ID, Result: map[string]any{
				"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "test", "version": "1"},
			}})
		case "tools/list":
			send(message{ID: m.ID, Result: map[string]any{"tools": tools()}})
		case "tools/call":
			var c call
			_ = json.Unmarshal(m.Params, &c)
			record(c)
			if c.Name == "slow" {
				go func() {
					time.Sleep(100 * time.Millisecond)
					send(message{ID: m.ID, Result: text(c.Arguments.Text)})
				}()
				continue
			}
			if *broken && c.Name == "echo" && slices.Contains(ways, c.Arguments.Text) {
				out.Lock()
				breakAnswer(os.Stdout, m.ID, c.Arguments.Text)
				out.Unlock()
				continue
			}
			send(answer(m.ID, c))
		default:
			send(message{ID: m.ID, Error: map[string]any{"code": -32601, "message": "Method not found"}})
		}
	}
}

func answer(id json.RawMessage, c call) message {
	switch c.Name {
	case "get_issue":
		return message{ID: id, Result: issue(c.Arguments.Key)}
	case "echo", "write", "destroy", "read_file":
		return message{ID: id, Result: text(c.Arguments.Text)}
	case "fail":
		return message{ID: id, Error: map[string]any{"code": -32000, "message": "the tracker is on fire"}}
	case "huge":
		return message{ID: id, Result: text(strings.Repeat("x", 1<<20))}
	case "die":
		os.Exit(3)
	}
	return message{ID: id, Error: map[string]any{"code": -32602, "message": "Unknown tool: " + c.Name}}
}

// breakAnswer writes an answer that no client should take, after 100 MB on a line of their own for "stray".
func breakAnswer(out io.Writer, id json.RawMessage, way string) {
	const tail = `,"content":[{"type":"text","text":"broken"}]}}` + "\n"
	head := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"structuredContent":`, id)
	switch way {
	case "duplicate":
		fmt.Fprint(out, head+`{"a":{"b":[{"c":1,"c":2}]}}`+tail)
	case "utf8":
		fmt.Fprint(out, head+"{\"a\":\"\xff\xfe\"}"+tail)
	case "deep":
		fmt.Fprint(out, head+`{"a":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`+tail)
	case "long":
		fmt.Fprint(out, head+`"`)
		writeLong(out)
		fmt.Fprint(out, `"`+tail)
	case "stray":
		writeLong(out)
		fmt.Fprint(out, "\n"+head+`{}`+tail)
	}
}

func writeLong(out io.Writer) {
	part := bytes.Repeat([]byte("x"), 1_000_000)
	for range 100 {
		_, _ = out.Write(part)
	}
}

func tools() []any {
	object := func(properties map[string]any, required ...string) map[string]any {
		return map[string]any{"type": "object", "properties": properties, "required": append([]string{}, required...)}
	}
	str := map[string]any{"type": "string"}
	tool := func(name, description string, schema map[string]any, hints map[string]any) map[string]any {
		t := map[string]any{"name": name, "description": description, "inputSchema": schema}
		if hints != nil {
			t["annotations"] = hints
		}
		return t
	}
	textArg := object(map[string]any{"text": str, "id": str})
	return []any{
		tool("get_issue", "Reads one issue.", object(map[string]any{"key": str}, "key"), nil),
		tool("echo", "Says the same.", textArg, map[string]any{"readOnlyHint": true}),
		tool("write", "Writes a comment.", textArg, map[string]any{"destructiveHint": false, "openWorldHint": false}),
		tool("destroy", "Deletes everything.", textArg, map[string]any{"destructiveHint": true}),
		tool("slow", "Says the same, later.", textArg, map[string]any{"readOnlyHint": true}),
		tool("fail", "Answers with an error.", textArg, map[string]any{"readOnlyHint": true}),
		tool("huge", "Answers with a megabyte.", textArg, map[string]any{"readOnlyHint": true}),
		tool("die", "Ends the server.", textArg, map[string]any{"readOnlyHint": true}),
		tool("read_file", "Bears the name of a built-in tool.", textArg, map[string]any{"readOnlyHint": true}),
	}
}

func text(s string) any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": s}}}
}

// issue answers with a text and enough structure that the whole result is 1240 bytes.
func issue(key string) json.RawMessage {
	const whole = 1240
	head := `{"content":[{"type":"text","text":"` + key + `: In Progress, assignee=..."}],"structuredContent":{"key":"` + key + `","history":"`
	const tail = `"}}`
	return json.RawMessage(head + strings.Repeat(".", max(0, whole-len(head)-len(tail))) + tail)
}

func record(c call) {
	if *journal == "" {
		return
	}
	f, err := os.OpenFile(*journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(f, "%s %s\n", c.Name, c.Arguments.ID)
	if err := f.Sync(); err != nil {
		panic(err)
	}
	_ = f.Close()
}

func startOrphan(pidFile string) {
	cmd := exec.Command("sleep", "3600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	_ = os.WriteFile(pidFile, []byte(fmt.Sprint(cmd.Process.Pid)), 0o600)
}

// Command server is an MCP server for the tests of flows, over stdio, in one of several roles: it reads mail, keeps notes,
// fetches pages, or sends what it is given away. What a call brought is a line in its journal, synced to disk before the
// call is answered: that is how a test knows what reached it.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

var (
	role    = flag.String("role", "", "mail, notes, web or net")
	journal = flag.String("journal", "", "file that gets the parameters of each call, a line each, synced")
	dir     = flag.String("dir", "", "folder with the results that reading tools return")
	bare    = flag.Bool("bare", false, "say nothing about the tools but their names")
)

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

type object = map[string]any

func main() {
	flag.Parse()
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	var out sync.Mutex
	send := func(m message) {
		line, err := json.Marshal(m)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		out.Lock()
		defer out.Unlock()
		_, _ = os.Stdout.Write(append(line, '\n')) // the end of the input tells that nobody reads
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		answer := message{JSONRPC: "2.0", ID: m.ID}
		switch m.Method {
		case "initialize":
			answer.Result = object{
				"protocolVersion": "2025-11-25", "capabilities": object{"tools": object{}},
				"serverInfo": object{"name": *role, "version": "1"},
			}
		case "tools/list":
			answer.Result = object{"tools": tools()}
		case "tools/call":
			if err := record(m.Params); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			if waits(m.Params) {
				go func() {
					answer.Result = call(m.Params)
					send(answer)
				}()
				continue
			}
			answer.Result = call(m.Params)
		default:
			answer.Error = object{"code": -32601, "message": "Method not found"}
		}
		send(answer)
	}
}

// later is the key of a note that whoever reads it waits for.
const later = "later"

func waits(params json.RawMessage) bool {
	var c struct {
		Name      string
		Arguments struct{ Key string }
	}
	return json.Unmarshal(params, &c) == nil && c.Name == "read_note" && c.Arguments.Key == later
}

// wait returns when the note is there, or after a while.
func wait() {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-tick.C {
		if _, err := os.Stat(file(later)); err == nil {
			return
		}
	}
}

// tool is one that takes texts.
func tool(name, what string, hints object, args ...string) object {
	properties := object{}
	for _, a := range args {
		properties[a] = object{"type": "string"}
	}
	t := object{"name": name, "description": what, "inputSchema": object{"type": "object", "properties": properties, "required": append([]string{}, args...)}}
	if hints != nil && !*bare {
		t["annotations"] = hints
	}
	return t
}

func tools() []object {
	reads := object{"readOnlyHint": true}
	switch *role {
	case "mail":
		return []object{tool("list_mail", "Lists mails.", reads), tool("read_mail", "Reads a mail.", reads, "id")}
	case "notes":
		here := object{"destructiveHint": false, "openWorldHint": false}
		return []object{tool("read_note", "Reads a note.", reads, "key"), tool("write_note", "Keeps a note.", here, "key", "text")}
	case "web":
		return []object{tool("fetch", "Fetches a page.", object{"readOnlyHint": true, "openWorldHint": true}, "url")}
	}
	return []object{
		tool("lookup", "Looks a word up.", object{"readOnlyHint": true, "openWorldHint": true}, "q"),
		tool("post", "Publishes a text.", object{"destructiveHint": false, "openWorldHint": true}, "url", "body"),
		tool("send", "Sends a text.", nil, "text"),
	}
}

// call returns what lies in the folder under the argument that names it.
func call(params json.RawMessage) any {
	var c struct {
		Name      string
		Arguments struct{ ID, Key, URL, Text string }
	}
	if err := json.Unmarshal(params, &c); err != nil {
		return text(err.Error())
	}
	switch c.Name {
	case "list_mail":
		return read("list")
	case "read_mail":
		return read(c.Arguments.ID)
	case "fetch":
		return read(c.Arguments.URL)
	case "read_note":
		if c.Arguments.Key == later {
			wait()
		}
		return read(c.Arguments.Key)
	case "write_note":
		kept, err := json.Marshal(text(c.Arguments.Text))
		if err == nil {
			next := file(c.Arguments.Key) + ".new" // half a note is never read
			err = errors.Join(os.WriteFile(next, kept, 0o600), os.Rename(next, file(c.Arguments.Key)))
		}
		if err != nil {
			return text(err.Error())
		}
		return text("kept")
	}
	return text("done")
}

func text(s string) any { return object{"content": []object{{"type": "text", "text": s}}} }

func read(key string) any {
	b, err := os.ReadFile(file(key))
	if err != nil {
		return text("there is nothing")
	}
	return json.RawMessage(b)
}

// file is where a result lies. The name says nothing of the key, which may be anything.
func file(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(*dir, hex.EncodeToString(sum[:8])+".json")
}

func record(params json.RawMessage) error {
	f, err := os.OpenFile(*journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(params, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

package standard_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// serve is a small MCP server that tells its token, the variable T, in every way that a server has.
func serve(behaviour string) {
	token := os.Getenv("T")
	switch behaviour {
	case "quits":
		fmt.Fprintln(os.Stderr, "bad token "+token)
		os.Exit(1)
	case "quits long":
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 285)+token) // shown up to 300 characters
		os.Exit(1)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Text string } }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			reply(m.ID, "result", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"test","version":"1"}}`)
		case "tools/list":
			const input = `"inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}`
			reply(m.ID, "result", `{"tools":[{"name":"say",`+input+`},{"name":"get",`+input+`,"annotations":{"readOnlyHint":true}}]}`)
		case "tools/call":
			callTool(m.ID, m.Params.Arguments.Text, token)
		default:
			reply(m.ID, "error", `{"code":-32601,"message":"no such method"}`)
		}
	}
}

func callTool(id json.RawMessage, text, token string) {
	switch text {
	case "fail":
		fmt.Println("stray " + token)
		reply(id, "error", `{"code":-32000,"message":`+quote("refused: "+token)+`}`)
		return
	case "die":
		fmt.Fprintln(os.Stderr, "dying with "+token)
		os.Exit(2)
	case "fail long":
		reply(id, "error", `{"code":-32000,"message":`+quote(strings.Repeat("x", 290)+token)+`}`)
		return
	case "stray long":
		fmt.Println(strings.Repeat("x", 185) + token) // shown up to 200 bytes
	case "log long":
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":` + quote(strings.Repeat("x", 495)+token) + `}}`) // up to 512
	}
	reply(id, "result", `{"content":[{"type":"text","text":`+quote(text+token)+`}]}`)
}

func reply(id json.RawMessage, member, value string) {
	fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%q:%s}\n", id, member, value)
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

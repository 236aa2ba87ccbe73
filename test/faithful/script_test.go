package faithful

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// script is a server that keeps what it got and says what it was told to, byte for byte. It may be called at once by
// many connections.
type script struct {
	t      testing.TB
	modern bool
	carry  func(string) string // what of a text the framing can carry
	items  map[int]*item

	mu  sync.Mutex
	got map[int]string // raw params, by item
}

const (
	discovered  = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
	initialized = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
	toolList    = `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}`
)

// reply returns all that the server says upon one message, the answer last; nothing for a notification.
func (s *script) reply(message []byte) []string {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(message, &m); err != nil {
		s.t.Errorf("the server got %.200q: %v", message, err)
		return nil
	}
	var method string
	_ = json.Unmarshal(m["method"], &method)
	result := ""
	switch {
	case m["id"] == nil:
		return nil
	case method == "tools/call":
		return s.call(m)
	case method == "tools/list":
		result = toolList
	case method == "server/discover" && s.modern:
		result = discovered
	case method == "initialize" && !s.modern:
		result = initialized
	default:
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m["id"])}
	}
	return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m["id"], result)}
}

func (s *script) call(m map[string]json.RawMessage) []string {
	params := string(m["params"])
	it := s.keep(params)
	if it == nil || len(m) != 4 {
		s.t.Errorf("the server got params %.200q in a message of %d members", params, len(m))
		return nil
	}
	out := []string{s.carry(fmt.Sprintf(it.outer, m["id"], it.result+it.failure))}
	if token := progressToken(params); token != "" {
		progress := `{"jsonrpc":"2.0","method":"notifications/progress","params":` + it.told(token) + `}`
		out = append([]string{s.carry(progress)}, out...)
	}
	return out
}

// keep notes what came and returns the item that it is of.
func (s *script) keep(params string) *item {
	var in struct{ Item int }
	in.Item = -1
	_ = json.Unmarshal([]byte(params), &in)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got[in.Item] = params
	return s.items[in.Item]
}

func (s *script) params(index int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got[index]
}

// told is the item's progress. A % in it is the one of the token.
func (it *item) told(token string) string { return strings.Replace(it.progress, "%s", token, 1) }

func progressToken(params string) string {
	all, _ := members(params)
	if meta := find(all, "_meta"); meta != nil {
		own, _ := split(meta.value)
		return own["progressToken"]
	}
	return ""
}

// What framings can carry.
func anything(s string) string { return s }

// line: a message of stdio has no line feed.
func line(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// event: in a stream of events all line ends are one.
func event(s string) string { return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s) }

package gateway

import (
	"bytes"
	"encoding/json"

	"github.com/usher-mcp/usher/mcp"
)

// How long a modern client may keep what it got, in milliseconds. Tools come and go with their servers.
const (
	toolsTTL    = `5000`
	discoverTTL = `60000`
)

// words are the parts of answers that never change.
type words struct {
	// The result of initialize after the revision, for a client that is told when the tools change, and for one that
	// isn't.
	told, untold []byte

	discover json.RawMessage
	meta     json.RawMessage // a `_meta` with our serverInfo
	server   json.RawMessage
}

const maxInstructions = 2048 // characters (E4)

func newWords(o Options) words {
	server, _ := json.Marshal(o.Info) // strings only
	instructions := ""
	if text := mcp.Cut(o.Instructions, maxInstructions); text != "" {
		instructions = `,"instructions":` + string(mcp.Quote(text))
	}
	w := words{server: server, meta: mcp.SetMember(nil, mcp.MetaServerInfo, server)}
	rest := func(listChanged string) []byte {
		return []byte(`,"capabilities":{"tools":{"listChanged":` + listChanged + `}},"serverInfo":` + string(server) + instructions + `}`)
	}
	w.told, w.untold = rest("true"), rest("false")
	w.discover = json.RawMessage(`{"resultType":"complete","supportedVersions":` + string(quoteAll(mcp.ModernRevisions())) +
		`,"capabilities":{"tools":{"listChanged":false}}` + instructions + `,"ttlMs":` + discoverTTL + `,"cacheScope":"private","_meta":` + string(w.meta) + `}`)
	return w
}

// initialize is the result of the handshake.
func (w words) initialize(revision string, told bool) json.RawMessage {
	b := append([]byte(`{"protocolVersion":`), mcp.Quote(revision)...)
	if told {
		return append(b, w.told...)
	}
	return append(b, w.untold...)
}

// complete adds to a result what each of the modern era has: its type and who made it; a list also says how long it
// may be kept. What the result has already stays, but for serverInfo: the server is usher here. All other bytes stay.
func (w words) complete(result json.RawMessage, list bool) json.RawMessage {
	if len(result) == 0 || result[0] != '{' {
		return result // not ours to repair
	}
	var meta []byte
	has := struct{ kind, ttl, scope bool }{}
	for key, value := range mcp.Members(result) {
		switch string(plain(key)) {
		case `"_meta"`:
			meta = value
		case `"resultType"`:
			has.kind = true
		case `"ttlMs"`:
			has.ttl = true
		case `"cacheScope"`:
			has.scope = true
		}
	}
	if meta != nil {
		result = mcp.SetMember(result, "_meta", mcp.SetMember(meta, mcp.MetaServerInfo, w.server))
	}
	more := make([]byte, 0, 96+len(w.meta))
	for _, member := range []struct {
		add         bool
		name, value string
	}{
		{!has.kind, "resultType", `"complete"`}, {list && !has.ttl, "ttlMs", toolsTTL},
		{list && !has.scope, "cacheScope", `"private"`}, {meta == nil, "_meta", string(w.meta)},
	} {
		if member.add {
			more = append(append(append(append(more, ',', '"'), member.name...), '"', ':'), member.value...)
		}
	}
	return splice(result, more)
}

// splice puts members, which begin with a comma, at the end of an object.
func splice(object, members []byte) json.RawMessage {
	end := bytes.LastIndexByte(object, '}')
	if len(members) == 0 {
		return object
	}
	if before := bytes.TrimRight(object[:end], " \t\r\n"); before[len(before)-1] == '{' {
		members = members[1:]
	}
	b := make([]byte, 0, len(object)+len(members))
	b = append(append(b, object[:end]...), members...)
	return append(b, object[end:]...)
}

// plain returns a raw key with no escapes that it doesn't need.
func plain(key []byte) []byte {
	if bytes.IndexByte(key, '\\') >= 0 {
		return mcp.Quote(mcp.Text(key))
	}
	return key
}

func quoteAll(words []string) []byte {
	b := []byte{'['}
	for i, s := range words {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, mcp.Quote(s)...)
	}
	return append(b, ']')
}

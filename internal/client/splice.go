package client

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/usher-mcp/usher/mcp"
)

const metaKey = "_meta"

// splice replaces the keys of params._meta that belong to a single hop. own are our members, raw and without braces;
// it may be empty. If the caller wants progress, its token is returned and id takes its place. All other members keep
// their bytes; params are returned as they are if nothing has to change, and never written to.
func splice(params json.RawMessage, own []byte, id int64) (out, token json.RawMessage) {
	meta := mcp.Member(params, metaKey)
	hops := 0
	for key, value := range mcp.Members(meta) {
		if isHopKey(key) {
			hops++
			if isKey(key, mcp.MetaProgress) && isToken(value) {
				token = value
			}
		}
	}
	switch {
	case len(own) == 0 && len(params) == 0:
		return nil, nil
	case len(own) == 0 && hops == 0:
		return params, nil
	case meta == nil:
		return prepend(params, own), nil
	}
	b := make([]byte, 0, len(meta)+len(own)+64)
	b = append(append(b, '{'), own...)
	if token != nil {
		b = appendComma(b)
		b = append(b, `"progressToken":`...)
		b = strconv.AppendInt(b, id, 10)
	}
	for key, value := range mcp.Members(meta) {
		if !isHopKey(key) {
			b = appendComma(b)
			b = append(append(append(b, key...), ':'), value...)
		}
	}
	if len(b) == 1 {
		return mcp.SetMember(params, metaKey, nil), token
	}
	return mcp.SetMember(params, metaKey, append(b, '}')), token
}

// prepend puts _meta before the members of params, which has none: so nothing has to be searched.
func prepend(params json.RawMessage, own []byte) json.RawMessage {
	const open = `{"_meta":{`
	rest := bytes.TrimLeft(params, " \t\r\n")
	if len(rest) == 0 {
		rest = []byte("{}")
	}
	rest = rest[1:]
	b := make([]byte, 0, len(open)+len(own)+2+len(rest))
	b = append(append(append(b, open...), own...), '}')
	if first := bytes.TrimLeft(rest, " \t\r\n"); len(first) > 0 && first[0] != '}' {
		b = append(b, ',')
	}
	return append(b, rest...)
}

func appendComma(b []byte) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return b
}

// isHopKey tells the keys that mean something between two neighbours only.
func isHopKey(key []byte) bool {
	if bytes.IndexByte(key, '\\') >= 0 {
		key = mcp.Quote(mcp.Text(key))
	}
	switch string(key[1 : len(key)-1]) {
	case mcp.MetaVersion, mcp.MetaCapabilities, mcp.MetaClientInfo, mcp.MetaLogLevel, mcp.MetaServerInfo,
		mcp.MetaProgress, mcp.MetaSubscription:
		return true
	}
	return false
}

func isKey(key []byte, name string) bool {
	return len(key) == len(name)+2 && string(key[1:len(key)-1]) == name || mcp.Text(key) == name
}

// isToken tells a string or a number, which a progress token must be.
func isToken(v []byte) bool {
	c := v[0]
	return c == '"' || c == '-' || c >= '0' && c <= '9'
}

// intOf reads a raw JSON integer that we made.
func intOf[T ~string | ~[]byte](raw T) (int64, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

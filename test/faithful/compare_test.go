package faithful

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// What is read here is read by encoding/json, with nothing of the code under test.

// member is one of an object, with where it lies there.
type member struct {
	name               string
	key, value         string // raw
	begin, from, until int    // of the key, of the value
}

func members(object string) ([]member, error) {
	d := json.NewDecoder(strings.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var all []member
	for d.More() {
		begin := int(d.InputOffset())
		begin += strings.IndexByte(object[begin:], '"')
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		key := object[begin:d.InputOffset()]
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		until := int(d.InputOffset())
		all = append(all, member{name.(string), key, string(raw), begin, until - len(raw), until})
	}
	return all, nil
}

func find(all []member, name string) *member {
	for i := range all {
		if all[i].name == name {
			return &all[i]
		}
	}
	return nil
}

// hop are the keys of _meta that belong to one hop (2026-07-28, "_meta"; progressToken of every revision).
var hop = map[string]bool{
	"progressToken": true, "io.modelcontextprotocol/protocolVersion": true, "io.modelcontextprotocol/clientCapabilities": true,
	"io.modelcontextprotocol/clientInfo": true, "io.modelcontextprotocol/logLevel": true,
	"io.modelcontextprotocol/serverInfo": true, "io.modelcontextprotocol/subscriptionId": true,
}

// split divides a _meta into what belongs to the hop, by name, and the rest as it is written.
func split(meta string) (own map[string]string, rest string) {
	all, _ := members(meta)
	own = make(map[string]string)
	for _, m := range all {
		if hop[m.name] {
			own[m.name] = m.value
		} else {
			rest += m.key + ":" + m.value + "\n"
		}
	}
	return own, rest
}

// oneLine is what mcp.Message.AppendTo documents: line breaks between tokens become spaces. Inside of strings JSON has
// none.
func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }

// checkParams says how the params that reached a server differ from those of the caller in more than this hop's part.
func checkParams(sent, got string, modern bool) error {
	s, err := members(sent)
	if err != nil {
		return fmt.Errorf("sent: %w", err)
	}
	g, err := members(got)
	if err != nil {
		return fmt.Errorf("got: %w", err)
	}
	metaS, metaG := find(s, "_meta"), find(g, "_meta")
	var ownS, ownG map[string]string
	var restS, restG string
	if metaS != nil {
		ownS, restS = split(metaS.value)
	}
	if metaG != nil {
		ownG, restG = split(metaG.value)
	}
	if !modern && len(ownS) == 0 {
		return differ("params", sent, got)
	}
	if err := differ("foreign members of _meta", restS, restG); err != nil {
		return err
	}
	if err := checkOwn(ownS, ownG, modern); err != nil {
		return err
	}
	switch {
	case metaS != nil && metaG != nil:
		return differ("params around _meta", sent[:metaS.from]+sent[metaS.until:], got[:metaG.from]+got[metaG.until:])
	case metaG != nil: // it was put in front
		rest := got[:1] + strings.TrimPrefix(got[metaG.until:], ",")
		return differ("params without the new _meta", sent, rest)
	}
	return differ("members without _meta", listed(s), listed(g))
}

// checkOwn: progress is asked for by a number of ours if the caller did, and a modern request has its three keys.
func checkOwn(sent, got map[string]string, modern bool) error {
	want := 0
	if sent["progressToken"] != "" {
		want++
		var n int64
		if json.Unmarshal([]byte(got["progressToken"]), &n) != nil {
			return fmt.Errorf("the progress token is %q", got["progressToken"])
		}
	}
	if modern {
		want += 3
		if got["io.modelcontextprotocol/protocolVersion"] != `"2026-07-28"` || got["io.modelcontextprotocol/clientCapabilities"] == "" ||
			!strings.Contains(got["io.modelcontextprotocol/clientInfo"], "usher") {
			return fmt.Errorf("the hop's own members are %v", got)
		}
	}
	if len(got) != want {
		return fmt.Errorf("the hop's own members are %v, want %d", got, want)
	}
	return nil
}

// listed are all members but _meta.
func listed(all []member) string {
	var b strings.Builder
	for _, m := range all {
		if m.name != "_meta" {
			b.WriteString(m.key + ":" + m.value + "\n")
		}
	}
	return b.String()
}

// checkCompleted says how a result that a modern agent got differs from the server's in more than what usher adds
// there: resultType if it lacks, and who usher is.
func checkCompleted(sent, got string) error {
	s, err := members(sent)
	if err != nil {
		return err
	}
	g, err := members(got)
	if err != nil {
		return err
	}
	metaS, metaG := find(s, "_meta"), find(g, "_meta")
	if metaG == nil || find(g, "resultType") == nil {
		return fmt.Errorf("neither _meta nor resultType may lack: %.200s", got)
	}
	own, restG := split(metaG.value)
	if len(own) != 1 || !strings.Contains(own["io.modelcontextprotocol/serverInfo"], "usher") {
		return fmt.Errorf("_meta has %v of this hop", own)
	}
	if metaS != nil {
		_, restS := split(metaS.value)
		if err := differ("foreign members of _meta", restS, restG); err != nil {
			return err
		}
		sent = sent[:metaS.from] + sent[metaS.until:]
		got = got[:metaG.from] + got[metaG.until:]
	}
	end := strings.LastIndexByte(sent, '}')
	if find(s, "resultType") != nil && metaS != nil {
		end = len(sent)
	}
	if len(got) < end {
		return differ("result", sent, got)
	}
	return differ("result", sent[:end], got[:end])
}

// differ shows where two texts part, and little else.
func differ(what, want, got string) error {
	if want == got {
		return nil
	}
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	cut := func(s string) string {
		return fmt.Sprintf("%q", s[max(0, i-30):min(len(s), i+50)])
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %d bytes became %d; from byte %d on\n  - %s\n  + %s", what, len(want), len(got), i, cut(want), cut(got))
	return fmt.Errorf("%s", b.String())
}

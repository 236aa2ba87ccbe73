package foreign

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/usher-mcp/usher/config"
)

// ownFile is what a file of usher's has already.
type ownFile struct {
	servers []ownServer
	rules   map[string]bool // list, pattern and condition
}

type ownServer struct{ name, endpoint string }

// readOwn reads a file of usher's as the other formats are read. What is broken in it is an error.
func readOwn(data []byte) (ownFile, error) {
	f := ownFile{rules: map[string]bool{}}
	if _, err := config.ParseFrom("imported.json", data, config.From{Source: config.SourceImported}); err != nil {
		return f, err
	}
	text, err := decode(data)
	if err != nil {
		return f, err
	}
	root, err := parseJSON(text)
	if err != nil {
		return f, err
	}
	for _, field := range []string{"mcpServers", "servers"} {
		n := root.get(field)
		if !n.is(isObject) {
			continue
		}
		for _, m := range n.members {
			f.servers = append(f.servers, ownServer{m.name, endpointOf(m.value)})
		}
	}
	for _, list := range []string{"deny", "ask", "allow"} {
		n := root.get("permissions", list)
		if !n.is(isList) {
			continue
		}
		for _, item := range n.items {
			f.rules[list+"\x00"+item.text+nodeText(item.get("rule"))+"\x00"+nodeText(item.get("when"))] = true
		}
	}
	return f, nil
}

func (f ownFile) has(name string) bool {
	return slices.ContainsFunc(f.servers, func(s ownServer) bool { return s.name == name })
}

// same is the server of the file that connects to the same: the one of that name, else one that is no other's. Two that
// differ in their secrets only look the same here.
func (f ownFile) same(e Entry, others map[string]bool) string {
	n, err := parseJSON(e.JSON())
	if err != nil {
		return ""
	}
	endpoint, found := endpointOf(n), ""
	for _, s := range f.servers {
		switch {
		case s.endpoint != endpoint:
		case s.name == e.Name:
			return s.name
		case found == "" && !others[s.name]:
			found = s.name
		}
	}
	return found
}

var keyringName = regexp.MustCompile(`\$\{keyring:[^}]*\}`)

// endpointOf is what two entries of usher's have in common that are the same server: the names of their secrets don't
// count, which come from the servers' names.
func endpointOf(n *node) string {
	all := []string{keyringName.ReplaceAllString(nodeText(n.get("command"))+"\x00"+nodeText(n.get("url"))+"\x00"+nodeText(n.get("cwd")), "${keyring}")}
	if args := n.get("args"); args.is(isList) {
		for _, a := range args.items {
			all = append(all, keyringName.ReplaceAllString(a.text, "${keyring}"))
		}
	}
	for _, group := range []string{"env", "headers"} {
		values := map[string]string{}
		if o := n.get(group); o.is(isObject) {
			for _, m := range o.members {
				values[m.name] = keyringName.ReplaceAllString(m.value.text, "${keyring}")
			}
		}
		all = append(all, fmt.Sprint(values)) // sorted
	}
	text, _ := json.Marshal(all) // texts can always be written
	return string(text)
}

package cli

import (
	"strconv"
	"strings"

	"github.com/usher-mcp/usher/config"
)

// fieldServer is the server whose entry a Problem's field lies in, or "".
func fieldServer(field string) string {
	rest := ""
	for _, key := range []string{"mcpServers", "servers"} {
		if r, ok := strings.CutPrefix(field, key); ok {
			rest = r
			break
		}
	}
	switch {
	case strings.HasPrefix(rest, "."):
		end := strings.IndexAny(rest[1:], ".[")
		if end < 0 {
			return rest[1:]
		}
		return rest[1 : 1+end]
	case strings.HasPrefix(rest, "["):
		quoted, err := strconv.QuotedPrefix(rest[1:])
		if err != nil {
			return ""
		}
		name, _ := strconv.Unquote(quoted)
		return name
	}
	return ""
}

// entryOf is a server's entry; empty if it has none.
func entryOf(c *config.Config, name string) config.Server {
	for _, s := range c.Servers {
		if s.Name == name {
			return s
		}
	}
	return config.Server{}
}

// serverOf finds the server that a tool's name is of, among the configured ones; the longest that fits. local says that
// the name can only be a built-in tool's. Without either any server may have it.
func serverOf(c *config.Config, name string) (server string, local bool) {
	if strings.HasPrefix(name, "local.") || strings.HasPrefix(name, "local__") {
		return "", true
	}
	known := append(serverNames(c), idle(c)...)
	for _, p := range c.Problems {
		known = append(known, fieldServer(p.Field))
	}
	for _, s := range known {
		if len(s) > len(server) && (strings.HasPrefix(name, "mcp."+s+".") || strings.HasPrefix(name, "mcp__"+forModels(s)+"__")) {
			server = s
		}
	}
	return server, false
}

// forModels writes a server's name as it stands in the names toward models.
func forModels(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

package index

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// sameTool reports whether two names, as people, models or the log write them, can be of one tool.
func sameTool(a, b string) bool {
	if prefix, many := strings.CutSuffix(a, "*"); many {
		return strings.HasPrefix(b, prefix) || strings.HasPrefix(inModels(b), prefix)
	}
	return a == b || bare(a) && endsIn(b, a) || spells(a, b) || spells(b, a)
}

func bare(name string) bool {
	for _, prefix := range [...]string{"mcp.", "mcp__", "local.", "local__"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return name != ""
}

func endsIn(name, tool string) bool {
	return !bare(name) && (strings.HasSuffix(name, "."+tool) || strings.HasSuffix(name, "__"+sane(tool)))
}

// spells reports whether model is how the canonical name is written toward models. Where the server ends isn't known,
// so each way to read the name is tried.
func spells(model, canonical string) bool {
	if tool, local := strings.CutPrefix(canonical, "local."); local {
		return spelled(model, "local__"+tool, "", tool)
	}
	rest, ok := strings.CutPrefix(canonical, "mcp.")
	if !ok || !strings.HasPrefix(model, "mcp__") {
		return false
	}
	for i := range len(rest) {
		if rest[i] == '.' && spelled(model, "mcp__"+rest[:i]+"__"+rest[i+1:], rest[:i], rest[i+1:]) {
			return true
		}
	}
	return false
}

// spelled knows how a long name ends: in the beginning of a digest of server and tool.
func spelled(model, joined, server, tool string) bool {
	if model == joined || model == sane(joined) {
		return true
	}
	i := strings.LastIndexByte(model, '_')
	if i < 0 || len(model)-i < 5 || !strings.HasPrefix(sane(joined), model[:i]) {
		return false
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	return strings.HasPrefix(hex.EncodeToString(sum[:]), model[i+1:])
}

func inModels(canonical string) string {
	if tool, local := strings.CutPrefix(canonical, "local."); local {
		return "local__" + sane(tool)
	}
	server, tool, _ := strings.Cut(strings.TrimPrefix(canonical, "mcp."), ".")
	return "mcp__" + sane(server) + "__" + sane(tool)
}

// sane is a name as model APIs take it.
func sane(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// ofServer reports whether a tool's name begins with that of the server, and with no longer one of known, which are all
// servers that the log names.
func ofServer(tool, server string, known []string) bool {
	if !begins(tool, server) {
		return false
	}
	for _, other := range known {
		if len(other) > len(server) && begins(tool, other) {
			return false
		}
	}
	return true
}

func begins(tool, server string) bool {
	return strings.HasPrefix(tool, "mcp."+server+".") || strings.HasPrefix(tool, "mcp__"+server+"__") ||
		strings.HasPrefix(tool, "mcp__"+sane(server)+"__")
}

package permission

import "strings"

// Rule is one entry of a list: a tool's name with `*` for any characters, in either spelling: `mcp.jira.get_*`,
// `mcp__jira__get_*`, `mcp.jira` for all of a server, `local.read_file` or `read_file` for a local tool, `*` for all.
type Rule struct {
	Pattern string
	Scope   string // where it was written: "user", …
	File    string
	Line    int
	Note    string // why the rule is there, if nobody wrote it
}

// Target names a tool as a pair that is never split again: Server is empty for a local tool.
type Target struct{ Server, Tool string }

// Canonical returns `mcp.<server>.<tool>`, or `local.<tool>`.
func (t Target) Canonical() string {
	if t.Server == "" {
		return "local." + t.Tool
	}
	return "mcp." + t.Server + "." + t.Tool
}

// matches compares server and tool each with its part of the pattern, so that a rule for `mcp.fs.*` doesn't reach a
// server called "fs.other". The pattern is cut after as many separators as the server's name itself has.
func (r Rule) matches(t Target) bool {
	if r.Pattern == "*" {
		return true
	}
	for _, sep := range [...]string{".", "__"} {
		if t.Server == "" {
			if rest, ok := strings.CutPrefix(r.Pattern, "local"+sep); ok && glob(rest, t.Tool) {
				return true
			}
			continue
		}
		rest, ok := strings.CutPrefix(r.Pattern, "mcp"+sep)
		if !ok {
			continue
		}
		if rest == "*" {
			return true
		}
		server, tool := split(rest, sep, strings.Count(t.Server, sep))
		if glob(server, t.Server) && glob(tool, t.Tool) {
			return true
		}
	}
	return t.Server == "" && isBare(r.Pattern) && glob(r.Pattern, t.Tool)
}

// Reaches reports whether the rule is about the tool, as the lists that forbid see it: a pattern that could also be read
// as this tool's name counts. An allow rule is taken more narrowly.
func (r Rule) Reaches(t Target) bool {
	if r.matches(t) {
		return true
	}
	if t.Server == "" || !strings.HasPrefix(r.Pattern, "mcp") {
		return false
	}
	return glob(r.Pattern, t.Canonical()) || glob(r.Pattern, "mcp__"+t.Server+"__"+t.Tool)
}

func isBare(pattern string) bool {
	for _, prefix := range [...]string{"mcp.", "mcp__", "local.", "local__"} {
		if strings.HasPrefix(pattern, prefix) {
			return false
		}
	}
	return true
}

// split cuts s at the separator that follows n others. Without one s names a server and means all its tools; it has no
// star then, since `fs.*` could be read as the servers whose names begin with "fs.".
func split(s, sep string, n int) (server, tool string) {
	at := 0
	for ; ; n-- {
		i := strings.Index(s[at:], sep)
		if i < 0 && strings.Contains(s, "*") {
			return "", ""
		}
		if i < 0 {
			return s, "*"
		}
		if n == 0 {
			return s[:at+i], s[at+i+len(sep):]
		}
		at += i + len(sep)
	}
}

// glob matches s with a pattern in which `*` stands for any characters, in time linear in both for each star.
func glob(pattern, s string) bool {
	star := strings.IndexByte(pattern, '*')
	if star < 0 {
		return pattern == s
	}
	if !strings.HasPrefix(s, pattern[:star]) {
		return false
	}
	s, pattern = s[star:], pattern[star+1:]
	for {
		star = strings.IndexByte(pattern, '*')
		if star < 0 {
			return strings.HasSuffix(s, pattern)
		}
		i := strings.Index(s, pattern[:star])
		if i < 0 {
			return false
		}
		s, pattern = s[i+star:], pattern[star+1:]
	}
}

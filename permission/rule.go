package permission

import "strings"

// Rule is one entry of a list: a tool's name with `*` for any characters, in either spelling: `mcp.jira.get_*`,
// `mcp__jira__get_*`, `mcp.jira` for all of a server, `local.read_file` or `read_file` for a local tool, `*` for all.
//
// Behind the name there may be arguments that all have to match, `mcp__fs__write_file(path:/etc/**, mode:w)`; `(*)` is
// as nothing. A name with a dot goes into an object, `options.path`. In a value, `*` is any characters but a slash, `**`
// is any; `\,` and `\\` are a comma and a backslash.
//
// Lists that forbid read the value in every form that a server may read it as: in any case, as any of Unicode's
// compatible forms, as a cleaned path, from the working folder or the home folder, where links lead, as an address without
// its user or port, percent-decoded, as any element of a list, under the name at any depth, and `*` crosses slashes, too. An allow rule takes only a value that is written as the rule has it: in the same case, with no
// `..` or empty element, each element of a list; what its wildcards stand for has no control characters and nothing by
// which a shell begins another command. A `**` alone takes any value.
type Rule struct {
	Pattern string
	When    Condition // must hold besides; nil: nothing
	Entry   string    // an allow rule reaches only the server whose entry has this hash, and it whatever its source
	Scope   string    // the source of the configuration that it was written in: "managed", "user", …; empty: the program's
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

// Reaches reports whether the rule is about the tool, as the lists that forbid see it: a pattern that could also be read
// as this tool's name counts, in whatever case. Arguments, condition and entry are left aside.
func (r Rule) Reaches(t Target) bool {
	for _, e := range readAll([]Rule{r}, wide) {
		if e.forbids(asked(t, "")) {
			return true
		}
	}
	return false
}

// Permits reports whether the rule is about the tool, as the allow list sees it: more narrowly than Reaches. Arguments,
// condition, entry and sources are left aside; a rule that can't be read is about nothing.
func (r Rule) Permits(t Target) bool {
	p, err := readPattern(r.Pattern)
	return err == nil && matches(p.name, t)
}

// CheckPattern says what is wrong with a rule's pattern, or nil. A deny or ask rule with such a pattern counts for all
// calls of the tools that it names, an allow rule for none.
func CheckPattern(pattern string) error {
	_, err := readPattern(pattern)
	return err
}

// matches compares server and tool each with its part of the name, so that a rule for `mcp.fs.*` doesn't reach a
// server called "fs.other". The name is cut after as many separators as the server's name itself has.
func matches(name string, t Target) bool {
	if name == "*" {
		return true
	}
	for _, sep := range [...]string{".", "__"} {
		if t.Server == "" {
			if rest, ok := strings.CutPrefix(name, "local"+sep); ok && glob(rest, t.Tool) {
				return true
			}
			continue
		}
		rest, ok := strings.CutPrefix(name, "mcp"+sep)
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
	return t.Server == "" && isBare(name) && glob(name, t.Tool)
}

// reaches takes name as any that could be read as this tool's.
func reaches(name string, t Target) bool {
	if matches(name, t) {
		return true
	}
	if t.Server == "" || !strings.HasPrefix(name, "mcp") {
		return false
	}
	return glob(name, t.Canonical()) || glob(name, "mcp__"+t.Server+"__"+t.Tool)
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

package config

import (
	"path"
	"slices"
)

// policyEntry is one element of allowedServers, deniedServers or trustedServers, ready to be held against servers.
type policyEntry struct {
	kind   string // the field it has: serverName, serverCommand or serverUrl; "": it reaches nothing
	name   string
	argv   []argument
	url    urlPattern
	off    bool // an allow entry that can't be used; that it is there still counts
	place  Place
	source string
}

// argument is one element of a serverCommand; any stands for an argument that could not be read.
type argument struct {
	text string
	any  bool
}

// Place is where something is written.
type Place struct {
	File string
	Line int // from 1
}

const (
	byName    = "serverName"
	byCommand = "serverCommand"
	byURL     = "serverUrl"
)

// policy is the lists of all sources together.
type policy struct {
	allowed     []policyEntry
	allowedAt   Place // of one of the lists; its File is "" where no list is written, and then all are allowed
	denied      []policyEntry
	unclearDeny *Place // of a list of which nothing can be read
}

// decide says why a server must not run, or "". A deny wins over all; an allow list that isn't written allows all, an
// empty one nothing. Where the list names addresses, or commands, its names are not for servers that have one.
func (p *policy) decide(s *Server) string {
	if p.unclearDeny != nil {
		return "the list of denied servers can't be read (" + p.unclearDeny.String() + ")"
	}
	a, clear := addressOf(s.URL)
	for _, e := range p.denied {
		if e.denies(s, a, clear) {
			return "it is on the list of denied servers (" + e.place.String() + ")"
		}
	}
	if p.allowedAt.File == "" {
		return ""
	}
	kind := byCommand
	if s.URL != "" {
		kind = byURL
	}
	if !slices.ContainsFunc(p.allowed, func(e policyEntry) bool { return e.kind == kind }) {
		kind = byName
	}
	if slices.ContainsFunc(p.allowed, func(e policyEntry) bool { return e.kind == kind && e.allows(s, a, clear) }) {
		return ""
	}
	return "it isn't on the list of allowed servers (" + p.allowedAt.String() + ")"
}

func (e *policyEntry) allows(s *Server, a address, clear bool) bool {
	switch {
	case e.off:
		return false
	case e.kind == byName:
		return e.name == s.Name
	case e.kind == byCommand:
		return s.Command != "" && e.runs(append([]string{s.Command}, s.Args...))
	}
	return s.URL != "" && clear && e.url.allows(a)
}

// vouches reports whether the administrator trusts a project's server in advance. One whose command or address they name
// is trusted only where the entry says nothing else that decides what runs there, or who answers: variables such as
// NODE_OPTIONS, another folder, a certificate authority of its own.
func (e *policyEntry) vouches(s *Server, a address, clear bool, folder string) bool {
	if e.kind == byCommand && (len(s.Env) > 0 || s.Dir != "" && s.Dir != folder) || e.kind == byURL && s.TLS != (TLS{}) {
		return false
	}
	return e.allows(s, a, clear)
}

// denies takes a program by any path where the entry has none. An address that can't be taken apart is denied, since
// nobody knows where it leads.
func (e *policyEntry) denies(s *Server, a address, clear bool) bool {
	switch e.kind {
	case byName:
		return e.name == s.Name
	case byCommand:
		return s.Command != "" && (e.runs(append([]string{s.Command}, s.Args...)) || e.runs(append([]string{path.Base(s.Command)}, s.Args...)))
	case byURL:
		return s.URL != "" && (!clear || e.url.denies(a, s.URL))
	}
	return false
}

func (e *policyEntry) runs(argv []string) bool {
	return slices.EqualFunc(e.argv, argv, func(a argument, s string) bool { return a.any || a.text == s })
}

// String returns file:line.
func (p Place) String() string { return p.File + ":" + itoa(p.Line) }

// changesAddress reports whether variables decide more of an address than its port and query.
func changesAddress(raw, expanded string) bool {
	const mark = "\ufffc"
	fixed, _ := parsePattern(expand(raw, func(string) (string, bool) { return mark, true }).text)
	now, why := parsePattern(expanded)
	return why != "" || fixed.scheme != now.scheme || fixed.host != now.host || fixed.path != now.path
}

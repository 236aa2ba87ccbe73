package config

import "path/filepath"

// readTrust comes before all else: what a project brings is looked at as it is written, and nothing in it is expanded
// before the user has trusted it. G2
func (e *entry) readTrust(canonical bool) {
	if e.from.Source != SourceProject {
		return
	}
	e.raw = !canonical || e.from.Trusted == nil || !e.from.Trusted(e.server.Name, e.server.Hash)
}

// readTrustHints takes nobody's word for hints but the user's and the administrator's. F2
func (e *entry) readTrustHints(f field) {
	v, ok := e.flag(f)
	v = keep(e, v, ok)
	switch e.from.Source {
	case SourceProject:
		e.reader.refuse(f, "a project can't say whether its servers' hints are trusted; put the server into your own configuration")
	case SourceImported:
	default:
		e.server.TrustHints = &v
	}
}

// settle fills in what depends on where the entry is from: a server of a folder runs there.
func (e *entry) settle() {
	s := &e.server
	if e.raw || s.Transport != TransportStdio {
		return
	}
	s.Dir = e.home(s.Dir)
	folder := ""
	switch e.from.Source {
	case SourceProject:
		folder = e.from.Folder
	case SourceLocal:
		folder = e.folder
	}
	if folder != "" && !filepath.IsAbs(s.Dir) && !(e.lenient && s.Dir != "" && s.Dir[0] == '$') {
		s.Dir = filepath.Join(folder, s.Dir)
	}
}

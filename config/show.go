package config

import (
	"cmp"
	"slices"
	"strings"
)

// Shown is a configuration for people: where each part of it is written. It has no secret in it: what is looked up stays a
// reference, and what stands in a file under a name that looks secret is hidden.
type Shown struct {
	Files    []ShownFile    `json:"files"`
	Settings []Setting      `json:"settings"`
	Rules    []ShownRule    `json:"rules"`
	Servers  []ShownServer  `json:"servers"`
	Problems []ShownProblem `json:"problems"`
}

// The values of ShownFile.State.
const (
	FileRead    = "read"
	FileMissing = "not there"
	FileBroken  = "broken" // nothing of it counts
)

// ShownFile is a place that was looked at.
type ShownFile struct {
	File   string `json:"file"`
	Source string `json:"source,omitempty"` // "": nothing is there
	State  string `json:"state"`
}

// Setting is a value, as it is written or as it counts, and where it is from.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // one of the constants; "default": nobody wrote it
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
}

// ShownRule is a rule, a label of risk or a grant.
type ShownRule struct {
	List   string `json:"list"` // deny, ask, allow, risk, grant, flow, allowedServers, deniedServers or trustedServers
	Rule   string `json:"rule"`
	When   string `json:"when,omitempty"`
	Source string `json:"source"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

// The values of ShownServer.State.
const (
	ServerRuns     = "runs"
	ServerDisabled = "disabled"
	ServerPending  = "not trusted"
	ServerBlocked  = "blocked"
	ServerShadowed = "shadowed"
)

// ShownServer is an entry, also one that doesn't count.
type ShownServer struct {
	Name   string    `json:"name"`
	State  string    `json:"state"`
	Why    string    `json:"why,omitempty"`
	Source string    `json:"source"`
	File   string    `json:"file"`
	Line   int       `json:"line"`
	Fields []Setting `json:"fields"` // as they are written, with variables unexpanded
}

// ShownProblem is a mistake.
type ShownProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// Show returns the data of usher config show. c is from LoadAll.
func Show(c *Config) Shown {
	s := shower{Config: c, gate: c.gate, docs: map[string]*document{}}
	if s.gate == nil {
		s.gate = &gate{}
	}
	out := Shown{Files: s.files(), Settings: s.settings(), Rules: s.rules(), Servers: s.servers(), Problems: []ShownProblem{}}
	for _, p := range c.Problems {
		out.Problems = append(out.Problems, ShownProblem{p.File, p.Line, p.Field, p.Message})
	}
	return out
}

// shower reads the texts of the files again for what a Config doesn't keep: lines of settings, and entries as written.
type shower struct {
	*Config
	gate *gate
	docs map[string]*document
}

func (s *shower) doc(p layer) *document {
	if d, ok := s.docs[p.name]; ok {
		return d
	}
	d, err := parseDocument(p.name, p.data)
	if err != nil { // it was read once
		d = nil
	}
	s.docs[p.name] = d
	return d
}

func (s *shower) files() []ShownFile {
	out := []ShownFile{}
	for _, path := range s.Files {
		f := ShownFile{File: path, State: FileMissing}
		if !missing(path) {
			f.State = FileBroken
		}
		for _, p := range s.gate.layers {
			if f.State != FileMissing && (p.name == path || sameFile(p.name, path)) {
				f.State, f.Source = FileRead, p.source
			}
		}
		out = append(out, f)
	}
	return out
}

func (s *shower) settings() []Setting {
	all := []Setting{
		{Name: "profile", Value: s.Profile.Name},
		{Name: "log.durability", Value: s.Log.Durability},
		{Name: "log.dir", Value: s.Log.Dir},
		{Name: "locale", Value: string(s.Locale)},
		{Name: "approvals.wait", Value: s.Approvals.Wait.String()},
		{Name: "approvals.keep", Value: s.Approvals.Keep.String()},
		{Name: "flows.mode", Value: s.Flows.Mode},
		{Name: "flows.inherit", Value: s.Flows.Inherit.String()},
		{Name: "permissions.mode", Value: cmp.Or(s.Permissions.Mode, ModeDefault)},
	}
	for _, name := range []string{"defaults", "errors"} {
		all = append(all, Setting{Name: name})
	}
	var out []Setting
	for _, x := range all {
		x.Source = "default"
		for _, p := range s.gate.layers {
			if p.cfg.says(x.Name) && p.maySay(x.Name) {
				s.place(&x, p)
				break
			}
		}
		if x.Value != "" {
			out = append(out, x)
		}
	}
	return out
}

// maySay is what takeSettings goes by.
func (p layer) maySay(setting string) bool {
	switch p.source {
	case SourceManaged, SourceUser:
		return true
	case SourceLocal, SourceCommandLine:
		return setting == "permissions.mode"
	}
	return false
}

// place finds the line of a setting in the file, and its text where it has no value yet.
func (s *shower) place(x *Setting, p layer) {
	x.Source, x.File = p.source, p.name
	d := s.doc(p)
	if d == nil || p.source == SourceLocal {
		return
	}
	fields := fieldsOf(d.object, "")
	for name := range strings.SplitSeq(x.Name, ".") {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			return
		}
		x.Line, _ = d.place(fields[i].key)
		if x.Value == "" {
			x.Value = s.hide(compact(fields[i].value))
		}
		fields = inside(fields[i])
	}
}

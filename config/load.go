package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// layer is one file, or one piece of JSON, of a source.
type layer struct {
	source string
	name   string // how messages call it
	data   []byte
	cfg    *Config
	policy *policyReader // nil: none is read here
}

// loader reads the parts of a configuration, each file once.
type loader struct {
	Sources
	dir, home string // canonical
	folder    string // of the project
	base      *Config
	layers    []layer
	files     []string
	broken    []Problem // of files of which nothing can be read
	trusted   []policyEntry
}

func newLoader(s Sources) (*loader, error) {
	if s.Env == nil {
		s.Env = func(string) (string, bool) { return "", false }
	}
	l := &loader{Sources: s}
	if s.Dir == "" {
		return l, nil
	}
	var err error
	if l.dir, err = canonical(s.Dir); err != nil {
		return nil, err
	}
	if home, _ := s.Env("HOME"); home != "" {
		l.home, _ = canonical(home)
	}
	return l, nil
}

func (l *loader) from(source string) From {
	return From{Env: l.Env, Source: source, Keyring: l.Keyring, Base: l.base}
}

// look notes that a file matters, and reports whether something is there.
func (l *loader) look(path string) (abs string, there bool) {
	if a, err := filepath.Abs(path); err == nil {
		path = a
	}
	if !slices.Contains(l.files, path) {
		l.files = append(l.files, path)
	}
	return path, !missing(path)
}

// user comes first: what it says of all servers is where the others start.
func (l *loader) user() error {
	name, data := l.User, []byte(nil)
	if l.Instead != nil {
		name, data = l.Instead.Name, l.Instead.Data
	} else if l.User != "" {
		l.look(l.User)
		var err error
		if data, _, err = readOnce(l.User); err != nil && (l.Reload || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
		if l.Reload && len(bytes.TrimSpace(data)) == 0 {
			return &Problem{File: l.User, Line: 1, Column: 1, Message: "the file is empty; write {} for no rules"}
		}
	}
	c, err := ParseFrom(name, data, l.from(SourceUser))
	if err != nil {
		return err
	}
	l.base = c
	policy, err := l.policyOf(name, data, SourceUser)
	if err != nil {
		return err
	}
	l.layers = append(l.layers, layer{SourceUser, name, data, c, policy})
	if l.dir == "" || !policy.doc.has("projects") {
		return nil
	}
	from := l.from(SourceLocal)
	from.Folder = l.dir
	if c, err = ParseFrom(name, data, from); err != nil {
		return err
	}
	l.layers = append(l.layers, layer{SourceLocal, name, data, c, nil})
	return nil
}

func (l *loader) policyOf(name string, data []byte, source string) (*policyReader, error) {
	doc, err := parseDocument(name, data)
	if err != nil {
		return nil, err
	}
	return readPolicy(doc, source, l.Env), nil
}

func (l *loader) commandLine() error {
	for i, given := range slices.Backward(l.CommandLine) { // the last one wins
		name, data, err := fmt.Sprintf("--mcp-config #%d", i+1), []byte(given), error(nil)
		asText := strings.HasPrefix(strings.TrimSpace(given), "{")
		if !asText {
			name, _ = l.look(given)
			if data, _, err = readOnce(name); err != nil {
				return fmt.Errorf("--mcp-config: %w", err)
			}
		}
		c, err := ParseFrom(name, data, l.from(SourceCommandLine))
		if err != nil && asText {
			return err
		}
		l.add(layer{SourceCommandLine, name, data, c, nil}, err)
	}
	return nil
}

// add takes a file, or notes why nothing of it counts.
func (l *loader) add(p layer, err error) {
	if err == nil {
		l.layers = append(l.layers, p)
		return
	}
	why, ok := errors.AsType[*Problem](err)
	if !ok {
		why = &Problem{File: p.name, Line: 1, Column: 1, Message: err.Error()}
	}
	l.broken = append(l.broken, *why)
}

// project reads the files of the project. One that is at the same time the user's own, or named on the command line, is
// read as that, once.
func (l *loader) project() error {
	if l.dir == "" {
		return nil
	}
	folder, looked := findProject(l.dir, l.home)
	for _, path := range looked {
		path, there := l.look(path)
		if !there || filepath.Dir(path) != folder || l.isKnown(path) {
			continue
		}
		l.folder = folder
		data, _, err := readOnce(path)
		var c *Config
		if err == nil {
			c, err = l.parseProject(path, data)
		}
		l.add(layer{SourceProject, path, data, c, nil}, err)
	}
	return nil
}

func (l *loader) isKnown(path string) bool {
	known := append([]string{l.User, l.Managed, l.Imported}, l.CommandLine...)
	if l.Instead != nil {
		known = append(known, l.Instead.Name)
	}
	return slices.ContainsFunc(known, func(k string) bool { return k != "" && sameFile(k, path) })
}

// parseProject asks for trust before anything of an entry is expanded. What the administrator trusts in advance is found
// in what isn't trusted yet, and then read again: the same bytes.
func (l *loader) parseProject(path string, data []byte) (*Config, error) {
	from := l.from(SourceProject)
	from.Folder = l.folder
	from.Trusted = func(name, hash string) bool { return l.Trusted != nil && l.Trusted(l.folder, name, hash) }
	c, err := ParseFrom(path, data, from)
	if err != nil || len(l.trusted) == 0 {
		return c, err
	}
	advance := map[[2]string]bool{}
	for _, s := range c.Pending {
		if l.inAdvance(s) {
			advance[[2]string{s.Name, s.Hash}] = true
		}
	}
	asked := from.Trusted
	from.Trusted = func(name, hash string) bool { return advance[[2]string{name, hash}] || asked(name, hash) }
	return ParseFrom(path, data, from)
}

// inAdvance holds an entry of a project, which isn't expanded yet, against the administrator's list.
func (l *loader) inAdvance(s Server) bool {
	s.Command, s.URL = expand(s.Command, l.Env).text, expand(s.URL, l.Env).text
	s.Args = slices.Clone(s.Args)
	for i, a := range s.Args {
		s.Args[i] = expand(a, l.Env).text
	}
	a, clear := addressOf(s.URL)
	return slices.ContainsFunc(l.trusted, func(e policyEntry) bool { return e.vouches(&s, a, clear, l.folder) })
}

func (l *loader) imported() error {
	if l.Imported == "" {
		return nil
	}
	path, there := l.look(l.Imported)
	if !there || sameFile(path, l.User) {
		return nil
	}
	data, _, err := readOnce(path)
	var c *Config
	if err == nil {
		c, err = ParseFrom(path, data, l.from(SourceImported))
	}
	l.add(layer{SourceImported, path, data, c, nil}, err)
	return nil
}

package config

import (
	"slices"

	"github.com/usher-mcp/usher/internal/lifecycle"
)

// The sources of what a configuration says, the strongest first.
const (
	SourceManaged     = "managed"      // the administrator's file
	SourceCommandLine = "command-line" // --mcp-config
	SourceLocal       = "local"        // the user's word for one folder, under projects in their own file
	SourceProject     = "project"      // a file that came with a folder; it can't widen anything
	SourceUser        = "user"         // the user's own file
	SourceImported    = "imported"     // copied from other products
)

// From says where a file is from and what may be looked up for it.
type From struct {
	// Env looks up variables; nil knows none.
	Env func(name string) (string, bool)
	// Source is one of the constants; "" is SourceUser.
	Source string
	// Keyring looks up ${keyring:name}; nil has none. It is asked once for each name, and only for entries that may run.
	// Its error is shown, so it must not hold the value.
	Keyring func(name string) (string, error)
	// Trusted reports whether the user has trusted this entry of a project, by its Hash; nil trusts none. It is asked for
	// SourceProject only.
	Trusted func(name, hash string) bool
	// Folder is absolute. For SourceLocal it is the working folder: of the members of projects, the one for it, or for the
	// nearest folder above, is all that is read. For SourceProject it is the folder of the project, where its servers run
	// if they don't say otherwise.
	Folder string
	// Base is a file whose profile and defaults entries start from, where this one has none; nil: usher's.
	Base *Config
}

// ParseFrom reads data as Load reads a file. name is what messages call the file. A source that may not say something, as
// a project may not allow a call, has a Problem for it, and it counts for nothing.
func ParseFrom(name string, data []byte, from From) (*Config, error) {
	doc, err := parseDocument(name, data)
	if err != nil {
		return nil, err
	}
	r := newReader(doc, from)
	if err := r.readRoot(); err != nil {
		return nil, err
	}
	r.cfg.file.names = r.names
	byName := func(a, b Server) int { return compareStrings(a.Name, b.Name) }
	slices.SortFunc(r.cfg.Servers, byName)
	slices.SortFunc(r.cfg.Pending, byName)
	slices.SortStableFunc(r.cfg.Problems, comparePlace)
	return r.cfg, nil
}

// Parse is ParseFrom for the user's own file.
func Parse(name string, data []byte, env func(string) (string, bool)) (*Config, error) {
	return ParseFrom(name, data, From{Env: env})
}

// file is what a Config remembers of its file for others that are read after it, and for the merge.
type file struct {
	// said has the paths of settings that the file has and that count: profile, defaults, locale, errors, log.durability,
	// log.dir, approvals.wait, approvals.keep, flows.mode, flows.inherit, permissions.mode; and mcpServers, also under its
	// other name and where it is broken.
	said         map[string]bool
	base, preset lifecycle.Settings
	names        map[string]int // of all entries, also those that can't be used, and their lines
}

// says reports whether the file itself says something at a path that file.said has.
func (c *Config) says(path string) bool { return c.file != nil && c.file.said[path] }

package connect

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Client is an agent whose configuration usher can be written into.
type Client struct {
	Name  string // as it is typed, such as "claude"
	Title string // as people call it
	Next  string // what to do after its file has changed

	program string // its command; "" if it has none
	user    func(Place) []string
	project []string // relative to the project's folder; none: it has no such file
	format  format
	root    []string // from the file's root to the entries
	shape   func(launch) []field
	names   *regexp.Regexp // of entries; nil: any
	key     func(string) string
	taken   []string // names that it keeps for itself
}

// Place is where clients are looked for.
type Place struct {
	Home string
	Dir  string                           // of the project, absolute
	Env  func(name string) (string, bool) // os.LookupEnv, but for tests
}

func (p Place) env(name string) string {
	v, _ := p.Env(name)
	return v
}

// config is a path in the folder for configurations.
func (p Place) config(parts ...string) string {
	base := p.env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		base = filepath.Join(p.Home, ".config")
	}
	return filepath.Join(append([]string{base}, parts...)...)
}

// home is a path in the folder that variable names, or in the one of that name in the home folder.
func (p Place) home(variable, name string, parts ...string) string {
	base := ""
	if variable != "" {
		base = p.env(variable)
	}
	return filepath.Join(append([]string{cmp.Or(base, filepath.Join(p.Home, name))}, parts...)...)
}

// Find returns the client that a person means. ok is false where there is none.
func Find(name string) (c *Client, ok bool) {
	all := Clients()
	i := slices.IndexFunc(all, func(c *Client) bool { return c.Name == strings.ToLower(name) })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// HasProject reports whether the client has a file for each project.
func (c *Client) HasProject() bool { return len(c.project) > 0 }

// File is the client's file: of the user, or of the project. Where it may have several names it is the first that is there.
func (c *Client) File(p Place, project bool) string {
	var paths []string
	if project {
		for _, name := range c.project {
			paths = append(paths, filepath.Join(p.Dir, name))
		}
	} else {
		paths = c.user(p)
	}
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	if len(paths) == 0 {
		return ""
	}
	return paths[0]
}

// Here reports whether the client seems to be on this machine: its file, the folder of that, or its command is.
func (c *Client) Here(p Place) bool {
	path := c.File(p, false)
	if _, err := os.Stat(path); err == nil {
		return true
	}
	if dir := filepath.Dir(path); dir != filepath.Clean(p.Home) {
		if _, err := os.Stat(dir); err == nil {
			return true
		}
	}
	if c.program == "" {
		return false
	}
	_, err := exec.LookPath(c.program)
	return err == nil
}

var simpleName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// entryName is what the entry for a server is called: the server's name where the client takes it.
func (c *Client) entryName(server string) string {
	name := server
	if c.names != nil && !c.names.MatchString(name) {
		name = strings.Map(func(r rune) rune {
			if r < 0x80 && simpleName.MatchString(string(r)) {
				return r
			}
			return '_'
		}, name)
	}
	if c.key != nil {
		name = c.key(name)
	}
	return name
}

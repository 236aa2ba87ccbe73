package foreign

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Machine is where products are looked for.
type Machine struct {
	Home string
	Env  func(string) (string, bool) // nil knows none
	Dir  string                      // the folder one works in, absolute
}

func (m Machine) env(name string) string {
	if m.Env == nil {
		return ""
	}
	s, _ := m.Env(name)
	return s
}

// configHome is $XDG_CONFIG_HOME, and its default.
func (m Machine) configHome(path ...string) string {
	return filepath.Join(append([]string{m.folder("XDG_CONFIG_HOME", ".config")}, path...)...)
}

// folder is the absolute one that a variable names, or the one below the home folder.
func (m Machine) folder(variable, otherwise string) string {
	if dir := m.env(variable); filepath.IsAbs(dir) {
		return dir
	}
	return m.home(otherwise)
}

func (m Machine) home(path ...string) string {
	if m.Home == "" {
		return ""
	}
	return filepath.Join(append([]string{m.Home}, path...)...)
}

// Place is a file of a product.
type Place struct {
	Product string
	Path    string
	Project string // the folder it belongs to; "" is none
	Shared  bool   // others may have written it: no allow rule of it counts
	Named   bool   // a person named this very file, so what it has may be taken
}

// spot is where a file may be. Its path may have stars, but not in a project's.
type spot struct {
	path    string
	project bool // path is below a project's folder
}

func own(paths ...string) (all []spot) {
	for _, p := range paths {
		if p != "" {
			all = append(all, spot{path: p})
		}
	}
	return all
}

func inProject(paths ...string) (all []spot) {
	for _, p := range paths {
		all = append(all, spot{p, true})
	}
	return all
}

// Find lists the files that are there, of the products named, or of all. It doesn't open them.
func Find(m Machine, products ...string) (found []Place) {
	for _, p := range Products() {
		if len(products) > 0 && !slices.Contains(products, p.Name) {
			continue
		}
		for _, s := range p.adapter.places(m) {
			for _, place := range m.at(p.Name, s) {
				if !slices.ContainsFunc(found, func(f Place) bool { return f.Path == place.Path && f.Product == place.Product }) {
					found = append(found, place)
				}
			}
		}
	}
	return found
}

func (m Machine) at(product string, s spot) (all []Place) {
	if s.project {
		for _, dir := range m.folders() {
			if path := filepath.Join(dir, s.path); there(path) {
				return []Place{{Product: product, Path: path, Project: dir, Shared: true}} // the nearest
			}
		}
		return nil
	}
	if !strings.Contains(s.path, "*") {
		if there(s.path) {
			all = append(all, Place{Product: product, Path: s.path})
		}
		return all
	}
	paths, _ := filepath.Glob(s.path)
	for _, path := range paths {
		all = append(all, Place{Product: product, Path: path})
	}
	return all
}

// folders are the one that one works in and those above, to the root of its repository; without one it is the only one.
// The home folder is none: what is there is the user's own.
func (m Machine) folders() (all []string) {
	for dir := m.Dir; filepath.IsAbs(dir) && dir != m.Home; dir = filepath.Dir(dir) {
		all = append(all, dir)
		if there(filepath.Join(dir, ".git")) {
			return all
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return all[:min(len(all), 1)]
}

func there(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() || err == nil && filepath.Base(path) == ".git"
}

// PlaceOf is the place of a file, whose product is guessed where none is named: by where it is, else by its name, else by
// its ending. A file that isn't where the product has it counts as somebody else's.
func (m Machine) PlaceOf(product, path string) Place {
	for _, p := range Find(m) {
		if p.Path == path && (product == "" || p.Product == product) {
			return p
		}
	}
	if product == "" {
		product = m.guess(path)
	}
	return Place{Product: product, Path: path, Shared: true}
}

func (m Machine) guess(path string) string {
	base := filepath.Base(path)
	for _, p := range Products() {
		for _, s := range p.adapter.places(m) {
			if !general(base) && filepath.Base(s.path) == base {
				return p.Name
			}
		}
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".toml":
		return "codex"
	case ".yaml", ".yml":
		return "goose"
	}
	return "" // Parse looks at what is in it
}

// general are names that several products give their files.
func general(base string) bool {
	return slices.Contains([]string{"settings.json", "mcp.json", "config.yaml", "config.json", "settings.local.json"}, base)
}

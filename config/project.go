package config

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/tailscale/hujson"
)

// projectFiles are a project's, the stronger one first. Read only.
var projectFiles = []string{"mcp.config.json", ".mcp.json"}

// findProject returns the folder of the project that dir, which is canonical, belongs to, and the files that were looked
// for. It is the nearest one with such a file, from dir up to the folder of the repository; where there is no repository,
// only dir itself. The home folder and those above it are no project's: what lies there reaches all projects, and is
// written by whoever drops a file.
func findProject(dir, home string) (folder string, looked []string) {
	last := repository(dir)
	for d := dir; home == "" || !sameFile(d, home); d = filepath.Dir(d) {
		found := false
		for _, name := range projectFiles {
			path := filepath.Join(d, name)
			looked = append(looked, path)
			found = found || !missing(path)
		}
		if found {
			return d, looked
		}
		if d == last || d == filepath.Dir(d) {
			break
		}
	}
	return "", looked
}

// repository is the nearest folder, from dir up, that git calls one; dir if there is none.
func repository(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

func (d *document) has(name string) bool {
	return slices.ContainsFunc(d.object.Members, func(m hujson.ObjectMember) bool { return textOf(m.Name) == name })
}

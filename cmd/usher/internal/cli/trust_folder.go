package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/config"
)

// fromFolder are programs that take what they run from files of the folder, by their first argument; none: always.
// Read only.
var fromFolder = map[string][]string{
	"npm": {"start", "run", "test", "run-script"}, "yarn": {"start", "run", "node"}, "pnpm": {"start", "run"}, "bun": {"run", "start"},
	"make": nil, "just": nil, "rake": nil, "gradle": nil, "mvn": nil, "tox": nil, "cargo": {"run"}, "go": {"run"}, "uv": {"run"},
	"poetry": {"run"}, "pipenv": {"run"}, "pdm": {"run"}, "hatch": {"run"}, "deno": {"task", "run"}, "dotnet": {"run"}, "mix": {"run"},
	"docker": {"compose"}, "docker-compose": nil, "nix": {"run", "develop"}, "direnv": nil, "mise": {"exec", "run", "x"},
}

// folderRisks says what runs that is in files of the folder, which somebody else may change.
func folderRisks(s config.Server, folder string) (all []string) {
	dir := s.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(folder, dir)
	}
	const open = "what is in there isn't covered by your trust, and may change"
	var files []string
	for i, word := range words(s) {
		if f := fileOf(word, i == 0, dir, folder); f != "" && !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	if len(files) > 0 {
		all = append(all, "it runs or reads files of this folder ("+strings.Join(files, ", ")+"): "+open)
	}
	for i, word := range words(s) {
		name := program(word)
		first, ok := fromFolder[name]
		next := append(slices.Clone(words(s)[i+1:]), "")
		if ok && (first == nil || slices.ContainsFunc(next, func(a string) bool { return slices.Contains(first, a) })) && len(files) == 0 {
			all = append(all, name+" takes what it runs from files of this folder: "+open)
			break
		}
		if pythons.MatchString(name) && slices.Contains(next, "-m") && len(files) == 0 {
			all = append(all, name+" -m looks for what it runs in this folder first: "+open)
			break
		}
	}
	return all
}

// fileOf is a word, or what follows its equals sign, that is a file in the folder. A command is, also where it isn't there
// yet, or where PATH leads there.
func fileOf(word string, command bool, dir, folder string) string {
	if _, value, ok := strings.Cut(word, "="); ok && !command {
		word = value
	}
	at := word
	switch {
	case word == "" || strings.Contains(word, "${"):
		return ""
	case command && !strings.Contains(word, "/"):
		found, err := exec.LookPath(word)
		if err != nil || !filepath.IsAbs(found) {
			return ""
		}
		at = found
	case !filepath.IsAbs(word):
		at = filepath.Join(dir, word)
	}
	info, err := os.Stat(at)
	if real, e := filepath.EvalSymlinks(at); e == nil {
		at = real
	}
	rel, e := filepath.Rel(folder, at)
	inside := e == nil && rel != ".." && !strings.HasPrefix(rel, "../")
	switch {
	case command && strings.Contains(word, "/") && !filepath.IsAbs(word):
		return word
	case inside && (command || err == nil && info.Mode().IsRegular()):
		return rel
	}
	return ""
}

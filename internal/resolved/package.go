package resolved

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// Bounds of what is read of one package.
const (
	maxFile  = 1 << 20
	maxDists = 5000
)

// runners are packages that only start others.
var runners = []string{"npm:npm", "npm:npx", "npm:pnpm", "npm:yarn", "npm:bun", "npm:corepack", "pypi:pipx", "pypi:uv", "pypi:pip"}

var (
	nameForm    = regexp.MustCompile(`^(@[a-z0-9._~-]{1,100}/)?[A-Za-z0-9._~-]{1,214}$`)
	versionForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+!_-]{0,127}$`)
)

// OfFile returns the package that a file belongs to, such as "npm:name@1.2.3" or "pypi:name@1.2.3"; empty where it
// belongs to none, or to one that only starts others. Links are followed.
func OfFile(path string) string {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	if found := node(path); found != "" {
		return found
	}
	return python(path)
}

// node reads the package.json of the innermost package in a node_modules folder.
func node(path string) string {
	const folder = "/node_modules/"
	at := strings.LastIndex(path, folder)
	if at < 0 {
		return ""
	}
	root, rest := path[:at+len(folder)], strings.Split(path[at+len(folder):], "/")
	n := 1
	if strings.HasPrefix(rest[0], "@") {
		n = 2
	}
	if len(rest) <= n {
		return ""
	}
	data, err := read(filepath.Join(root, filepath.Join(rest[:n]...), "package.json"))
	if err != nil {
		return ""
	}
	var p struct{ Name, Version string }
	if json.Unmarshal(data, &p) != nil {
		return ""
	}
	return joined("npm", p.Name, p.Version)
}

// python finds the distribution whose console script this is, in the environment that the script is in.
func python(path string) string {
	bin, script := filepath.Split(path)
	if filepath.Base(bin) != "bin" {
		return ""
	}
	all, err := filepath.Glob(filepath.Join(escape(filepath.Dir(filepath.Clean(bin))), "lib", "python3*", "site-packages", "*.dist-info"))
	if err != nil || len(all) > maxDists {
		return ""
	}
	for _, dist := range all {
		if declares(filepath.Join(dist, "entry_points.txt"), script) {
			return metadata(filepath.Join(dist, "METADATA"))
		}
	}
	return ""
}

// declares reports whether an entry_points.txt has the script among its console scripts.
func declares(file, script string) bool {
	data, err := read(file)
	if err != nil {
		return false
	}
	in := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			in = line == "[console_scripts]"
			continue
		}
		name, _, ok := strings.Cut(line, "=")
		if in && ok && strings.TrimSpace(name) == script {
			return true
		}
	}
	return false
}

// metadata reads the head of a METADATA file.
func metadata(file string) string {
	f, err := open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	var name, version string
	for lines := bufio.NewScanner(io.LimitReader(f, maxFile)); lines.Scan() && lines.Text() != "" && (name == "" || version == ""); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch strings.ToLower(key) {
		case "name":
			name = strings.TrimSpace(value)
		case "version":
			version = strings.TrimSpace(value)
		}
	}
	return joined("pypi", name, version)
}

func joined(kind, name, version string) string {
	if !nameForm.MatchString(name) || !versionForm.MatchString(version) || slices.Contains(runners, kind+":"+name) {
		return ""
	}
	return kind + ":" + name + "@" + version
}

// read reads a regular file that isn't too long.
func read(path string) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = os.ErrInvalid
	}
	return data, err
}

// open opens a regular file. What the process put there instead, such as a pipe that nobody writes to, isn't waited for.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, os.ErrInvalid
	}
	return f, nil
}

var globMeta = regexp.MustCompile(`[*?\[\\]`)

func escape(path string) string { return globMeta.ReplaceAllString(path, `\$0`) }

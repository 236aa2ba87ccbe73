package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what LoadAll says into testdata/sources")

// TestSources reads a tree of files for each case; TREE stands for the folder it is in. The file setup has a line for
// each thing that is no file, want what comes of it. G2 G3
func TestSources(t *testing.T) {
	cases, err := filepath.Glob("testdata/sources/*.txt")
	if err != nil || len(cases) < 20 {
		t.Fatal(len(cases), err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			tree := newTree(t)
			want := tree.fill(archive)
			got := strings.ReplaceAll(summary(LoadAll(tree.sources)), tree.root, "TREE")
			if *update {
				rewrite(t, path, archive, got)
				return
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s(-want +got):\n%s", archive.Comment, diff)
			}
		})
	}
}

// tree is a home, a repository and an administrator's folder.
type tree struct {
	*testing.T
	root    string
	sources Sources
	trust   []string
	env     map[string]string
}

func newTree(t *testing.T) *tree {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr := &tree{T: t, root: root, env: map[string]string{"HOME": filepath.Join(root, "home")}}
	user := filepath.Join(root, "home/cfg/mcp.config.json")
	tr.sources = Sources{
		User: user, Managed: filepath.Join(root, "etc/managed-mcp.json"), Imported: ImportedPath(user), Dir: filepath.Join(root, "repo"),
		Env:     func(name string) (string, bool) { v, ok := tr.env[name]; return v, ok },
		Keyring: func(name string) (string, error) { return "kept-" + name, nil },
		Trusted: func(folder, name, _ string) bool {
			return slices.Contains(tr.trust, name) && folder == filepath.Join(root, "repo")
		},
	}
	tr.mkdir("home/cfg")
	tr.mkdir("repo/.git")
	return tr
}

func (t *tree) mkdir(name string) {
	if err := os.MkdirAll(filepath.Join(t.root, name), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (t *tree) write(name, text string) string {
	t.mkdir(filepath.Dir(name))
	path := filepath.Join(t.root, name)
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "TREE", t.root)), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func (t *tree) fill(archive *txtar.Archive) (want string) {
	setup := ""
	for _, f := range archive.Files {
		switch f.Name {
		case "setup":
			setup = string(f.Data)
		case "want":
			want = string(f.Data)
		default:
			t.write(f.Name, string(f.Data))
		}
	}
	for l := range strings.Lines(setup) {
		t.do(strings.TrimSpace(strings.ReplaceAll(l, "TREE", t.root)))
	}
	return want
}

func (t *tree) do(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	a, b, _ := strings.Cut(rest, " ")
	at := func(name string) string { return filepath.Join(t.root, name) }
	var err error
	switch verb {
	case "":
	case "dir":
		t.mkdir(rest)
		t.sources.Dir = at(rest)
	case "trust":
		t.trust = append(t.trust, a)
	case "strict":
		t.sources.Strict = true
	case "reload":
		t.sources.Reload = true
	case "cli":
		if !strings.HasPrefix(rest, "{") {
			rest = at(rest)
		}
		t.sources.CommandLine = append(t.sources.CommandLine, rest)
	case "env":
		t.env[a] = b
	case "mkdir":
		t.mkdir(a)
	case "rmdir":
		err = os.RemoveAll(at(a))
	case "link":
		t.mkdir(filepath.Dir(a))
		err = os.Symlink(b, at(a))
	case "hard":
		err = os.Link(at(b), at(a))
	case "pipe":
		t.mkdir(filepath.Dir(a))
		err = syscall.Mkfifo(at(a), 0o644)
	case "large":
		t.write(a, `{"mcpServers": {"x": {"command": "x"}}, "pad": "`+strings.Repeat("x", 5<<20)+`"}`)
	case "mode":
		var mode uint32
		_, err = fmt.Sscanf(b, "%o", &mode)
		if err == nil {
			err = os.Chmod(at(a), os.FileMode(mode))
		}
	default:
		t.Fatalf("setup: %q", line)
	}
	if err != nil {
		t.Fatal(line, err)
	}
}

// summary is all that matters of a configuration, a line each.
func summary(c *Config, err error) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if err != nil {
		say("error: %T: %v", err, err)
		return b.String()
	}
	for _, s := range c.Servers {
		state, why := "run", ""
		if _, err := c.Admit(s.Name); err != nil {
			state, why = "keep", " ("+err.Error()+")"
		}
		say("%s %s: %s %s:%d %s%s", state, s.Name, s.Source, s.File, s.Line, aim(s), why)
	}
	for _, s := range c.Pending {
		say("pending %s: %s:%d %s", s.Name, s.File, s.Line, aim(s))
	}
	for _, x := range c.Blocked {
		say("blocked %s: %s: %s", x.Server.Name, x.Server.Source, x.Reason)
	}
	for _, x := range c.Shadowed {
		say("shadowed %s: %s by %s", x.Server.Name, x.Server.Source, x.By.Source)
	}
	p := c.Permissions
	for i, rules := range [][]Rule{p.Deny, p.Ask, p.Allow} {
		for _, r := range rules {
			say("%s %s: %s:%d", ruleLists[i], strings.TrimSpace(r.Pattern+" "+r.Entry), r.Source, r.Line)
		}
	}
	for name, l := range p.Risk {
		say("risk %s %s %s", name, l.Risk, l.Hash)
	}
	for _, g := range p.Grants {
		say("grant %s: %s", g.Tool, g.Source)
	}
	for _, f := range c.Flows.Labels {
		say("flow %s %v: %s", f.Pattern, f.Labels, f.Source)
	}
	if p.Mode != "" || p.Modes != nil {
		say("mode %s of %v", p.Mode, p.Modes)
	}
	standard := empty("")
	if c.Log != standard.Log || c.Profile.Name != standard.Profile.Name || c.Locale != standard.Locale || c.Approvals != standard.Approvals ||
		c.Flows.Mode != standard.Flows.Mode {
		say("settings log %v, %s, %s, approvals %v, flows %s", c.Log, c.Profile.Name, c.Locale, c.Approvals, c.Flows.Mode)
	}
	for _, q := range c.Problems {
		say("problem %v", q)
	}
	for _, q := range c.Unclear {
		say("asks because of %s:%d", q.File, q.Line)
	}
	return b.String()
}

func aim(s Server) string {
	text := strings.TrimSpace(strings.Join(append([]string{s.Command}, s.Args...), " ") + s.URL)
	if s.Dir != "" {
		text += " in " + s.Dir
	}
	return text
}

func rewrite(t *testing.T, path string, archive *txtar.Archive, got string) {
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
	if i < 0 {
		i = len(archive.Files)
		archive.Files = append(archive.Files, txtar.File{Name: "want"})
	}
	archive.Files[i].Data = []byte(got)
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

package connect

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// desk is a home folder with one client's file in it.
type desk struct {
	t    *testing.T
	o    Options
	file string
}

func newDesk(t *testing.T, client string) *desk {
	t.Helper()
	c, ok := Find(client)
	if !ok {
		t.Fatalf("no client %s", client)
	}
	home := t.TempDir()
	o := Options{
		Client: c, Data: filepath.Join(home, "data"), Command: "usher",
		Place: Place{Home: home, Dir: filepath.Join(home, "project"), Env: func(string) (string, bool) { return "", false }},
		Servers: []Server{
			{Name: "fs", Command: []string{"npx", "-y", "fs-mcp", "."}},
			{Name: "jira", Command: []string{"npx", "-y", "jira-mcp"}, Vars: []string{"JIRA_TOKEN"}},
		},
	}
	d := &desk{t, o, c.File(o.Place, false)}
	if err := os.MkdirAll(filepath.Dir(d.file), 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) write(data string) {
	d.t.Helper()
	if err := os.WriteFile(d.file, []byte(data), 0o640); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) read() string {
	d.t.Helper()
	b, err := os.ReadFile(d.file)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

func (d *desk) connect() *Plan {
	d.t.Helper()
	p, err := New(d.o)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := p.Apply(); err != nil {
		d.t.Fatal(err)
	}
	return p
}

func (d *desk) undo() *Plan {
	d.t.Helper()
	p, err := Undo(d.o)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := p.Apply(); err != nil {
		d.t.Fatal(err)
	}
	return p
}

// what are the changes of a plan as short text.
func what(p *Plan) (all []string) {
	for _, c := range p.Changes {
		all = append(all, c.Kind+" "+c.Name)
	}
	return all
}

// O5: a file in each format and layout: connected, connected again, undone to the byte; and undone where somebody else
// wrote it meanwhile.
func TestFiles(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, variant := range []string{"lf", "crlf", "bom", "without end"} {
				t.Run(variant, func(t *testing.T) { testFile(t, path, a, variant) })
			}
		})
	}
}

// part is a file of the archive in a variant of how files are stored.
func variantOf(a *txtar.Archive, name, variant string) (string, bool) {
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return "", false
	}
	text := string(a.Files[i].Data)
	switch variant {
	case "crlf":
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case "bom":
		text = string(utf8BOM) + text
	}
	return text, true
}

func testFile(t *testing.T, path string, a *txtar.Archive, variant string) {
	client, flags, _ := strings.Cut(strings.TrimSpace(string(a.Comment)), " ")
	d := newDesk(t, client)
	d.o.One = strings.Contains(flags, "one")
	d.o.KeepOwn = strings.Contains(flags, "keep")
	if strings.Contains(flags, "jira") {
		d.o.Only = []string{"jira"}
	}
	before, _ := variantOf(a, "before", variant)
	want, _ := variantOf(a, "after", variant)
	if variant == "without end" {
		before = strings.TrimRight(before, "\n")
	}
	d.write(before)
	p := d.connect()
	got := d.read()
	if variant == "without end" {
		got, want = strings.TrimRight(got, "\n"), strings.TrimRight(want, "\n")
	}
	if os.Getenv("UPDATE") != "" && variant == "lf" {
		for i := range a.Files {
			if a.Files[i].Name == "after" {
				a.Files[i].Data = []byte(got)
			}
		}
		if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after connect:\n%s", diff)
	}
	if p.Client != d.o.Client {
		t.Error("another client")
	}
	if again := d.connect(); again.Changed() {
		t.Errorf("connected again it changes: %v", what(again))
	}
	if back := d.undo(); !back.Exact || d.read() != before {
		t.Errorf("the undo isn't exact:\n%s", cmp.Diff(before, d.read()))
	}
	if _, err := Undo(d.o); !errors.Is(err, ErrNotConnected) && client == "" {
		t.Error(err)
	}
}

// A file that is changed by others after it was connected loses only our entries.
func TestUndoAfterOthers(t *testing.T) {
	for _, c := range []struct{ client, before, others, after string }{
		{"cursor", "{\n  // c\n  \"mcpServers\": {\n    \"jira\": {\"url\": \"https://x.example\"}, // mine\n    \"own\": {\"command\": \"x\"}\n  }\n}\n", "\n// end\n",
			"{\n  // c\n  \"mcpServers\": {\n    \"jira\": {\"url\": \"https://x.example\"}, // mine\n    \"own\": {\"command\": \"x\"}\n  }\n}\n\n// end\n"},
		{"codex", "model = \"o\"\n\n[mcp_servers.jira]\ncommand = \"x\" # mine\n\n[mcp_servers.jira.env]\nA = \"b\"\n\n[tui]\nx = 1\n", "# end\n",
			"model = \"o\"\n\n[mcp_servers.jira]\ncommand = \"x\" # mine\n\n[mcp_servers.jira.env]\nA = \"b\"\n\n[tui]\nx = 1\n# end\n"},
		{"goose", "extensions:\n  # c\n  jira:\n    cmd: x # mine\n    type: stdio\nGOOSE: x\n", "# end\n",
			"extensions:\n  # c\n  jira:\n    cmd: x # mine\n    type: stdio\nGOOSE: x\n# end\n"},
	} {
		t.Run(c.client, func(t *testing.T) {
			d := newDesk(t, c.client)
			d.write(c.before)
			d.connect()
			d.write(d.read() + c.others)
			p := d.undo()
			if p.Exact {
				t.Error("it says that it is exact")
			}
			if diff := cmp.Diff(c.after, d.read()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"removed fs", "removed jira", "restored jira"}, sorted(what(p))); diff != "" {
				t.Error(diff)
			}
			if _, err := Undo(d.o); !errors.Is(err, ErrNotConnected) {
				t.Errorf("undone twice: %v", err)
			}
		})
	}
}

func sorted(s []string) []string { slices.Sort(s); return s }

// A file that isn't there is made, and goes again with its folders.
func TestNoFile(t *testing.T) {
	for _, c := range Clients() {
		t.Run(c.Name, func(t *testing.T) {
			d := newDesk(t, c.Name)
			if c.HasProject() {
				d.o.Project = true
				d.file = c.File(d.o.Place, true)
			}
			if err := os.RemoveAll(filepath.Dir(d.file)); err != nil {
				t.Fatal(err)
			}
			p := d.connect()
			if s := c.Look(d.o.Place, d.file); len(s.Ours) != 2 || len(s.Own) != 0 || s.Err != nil {
				t.Errorf("%+v in\n%s", s, d.read())
			}
			if p.Backup() != "" {
				t.Error("a copy of nothing")
			}
			if again := d.connect(); again.Changed() {
				t.Errorf("connected again it changes: %v\n%s", what(again), again.After)
			}
			d.undo()
			if _, err := os.Stat(filepath.Dir(d.file)); err == nil {
				t.Error("the folder is still there")
			}
		})
	}
}

// What can't be read is never touched.
func TestBroken(t *testing.T) {
	for _, c := range []struct{ client, text string }{
		{"claude", `{"mcpServers": {`}, {"claude", `{"mcpServers": []}`}, {"claude", `[]`}, {"claude", `{"mcpServers": {}, "mcpServers": {}}`},
		{"claude", `{"mcpServers": {"fs": {}, "fs": {}}}`}, {"claude", "\xff\xfe{\x00}\x00"}, {"claude", "{\"a\": \"\xff\"}"},
		{"codex", "a = "}, {"codex", "mcp_servers = { x = { command = \"x\" } }\n"}, {"codex", "mcp_servers = 1\n"}, {"codex", "[[mcp_servers]]\na = 1\n"},
		{"codex", "[mcp_servers]\na = 1\n[mcp_servers]\nb = 1\n"},
		{"goose", "a: ["}, {"goose", "- a\n"}, {"goose", "extensions: {a: {cmd: x}}\n"}, {"goose", "a: 1\n---\nb: 1\n"}, {"goose", "{extensions: {}}\n"},
		{"goose", "extensions: [a]\n"}, {"goose", "extensions:\n  a: 1\n  a: 2\n"}, {"goose", "x: &x\n  a: {cmd: b}\nextensions: *x\n"},
	} {
		d := newDesk(t, c.client)
		d.write(c.text)
		if p, err := New(d.o); err == nil {
			t.Errorf("%s %q was taken: %s", c.client, c.text, p.After)
		}
		if _, err := os.Stat(d.o.Data); err == nil {
			t.Error("something was written")
		}
	}
}

// The mode stays, a link stays and what it leads to is written, and the copy is only for its user.
func TestLinkAndMode(t *testing.T) {
	d := newDesk(t, "cursor")
	real := filepath.Join(d.o.Place.Home, "dotfiles.json")
	d.write("{}")
	if err := os.Rename(d.file, real); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../dotfiles.json", d.file); err != nil {
		t.Fatal(err)
	}
	p := d.connect()
	if link, err := os.Readlink(d.file); err != nil || link != "../dotfiles.json" {
		t.Error("the link is gone", link, err)
	}
	info, err := os.Stat(real)
	if err != nil || info.Mode().Perm() != 0o640 || p.Target != real {
		t.Error(info.Mode(), err, p.Target)
	}
	if info, err = os.Stat(p.Backup()); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if info, err = os.Stat(filepath.Dir(p.Backup())); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
}

// What another program writes while a person looks isn't lost.
func TestChangedMeanwhile(t *testing.T) {
	d := newDesk(t, "cursor")
	d.write("{}")
	p, err := New(d.o)
	if err != nil {
		t.Fatal(err)
	}
	d.write(`{"a": 1}`)
	if err := p.Apply(); !errors.Is(err, ErrChanged) || d.read() != `{"a": 1}` {
		t.Error(err, d.read())
	}
	if err := os.Chmod(d.file, 0o444); err != nil {
		t.Fatal(err)
	}
	if p, err = New(d.o); err != nil {
		t.Fatal(err)
	}
	var m *Mistake
	if err := p.Apply(); !errors.As(err, &m) || d.read() != `{"a": 1}` {
		t.Error(err, d.read())
	}
}

// Two at once: one writes, the other is told; nothing is left behind.
func TestTwoAtOnce(t *testing.T) {
	d := newDesk(t, "cursor")
	d.write("{}")
	results := make(chan error, 2)
	for _, only := range []string{"fs", "jira"} {
		o := d.o
		o.Only = []string{only}
		p, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		go func() { results <- p.Apply() }()
	}
	a, b := <-results, <-results
	if (a == nil) == (b == nil) || !errors.Is(errors.Join(a, b), ErrChanged) {
		t.Error(a, b)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(d.file), ".*.tmp"))
	if err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// Connecting again follows usher's configuration, and touches nothing of what a person added to our entries.
func TestAgain(t *testing.T) {
	for _, client := range []string{"cursor", "codex", "goose"} {
		t.Run(client, func(t *testing.T) {
			d := newDesk(t, client)
			d.write("")
			d.connect()
			added := map[string][2]string{
				"cursor": {`"fs": {`, `"fs": {"note": "mine",`}, "codex": {"[mcp_servers.fs]\n", "[mcp_servers.fs]\ntool_timeout_sec = 9 # mine\n"},
				"goose": {"  fs:\n", "  fs:\n    # mine\n"},
			}[client]
			text := strings.Replace(d.read(), added[0], added[1], 1)
			if text == d.read() {
				t.Fatalf("nothing replaced in\n%s", text)
			}
			d.write(text)
			d.o.Args = []string{"--data", "/x"}
			d.o.Servers = []Server{d.o.Servers[0], {Name: "new", URL: "https://new.example"}}
			p := d.connect()
			if diff := cmp.Diff([]string{"added new", "removed jira", "updated fs"}, sorted(what(p))); diff != "" {
				t.Error(diff)
			}
			got := d.read()
			if !strings.Contains(got, "mine") || strings.Count(got, "--data") != 2 || strings.Contains(got, "jira") {
				t.Error(got)
			}
			d.undo()
			if s := d.o.Client.Look(d.o.Place, d.file); len(s.Ours) != 0 || s.Err != nil {
				t.Error(d.read())
			}
		})
	}
}

// An entry of the client's own for a server that usher serves would go past it: it is moved, also under another name.
func TestMoved(t *testing.T) {
	d := newDesk(t, "claude")
	before := `{"mcpServers": {"files": {"command": "npx", "args": ["-y", "fs-mcp", "."]}, "jira": {"url": "https://jira.example"}, "web": {"command": "web"}}}`
	d.write(before)
	p := d.connect()
	if diff := cmp.Diff([]string{"added fs", "moved files", "moved jira"}, sorted(what(p))); diff != "" {
		t.Error(diff)
	}
	s := d.o.Client.Look(d.o.Place, d.file)
	if len(s.Ours) != 2 || len(s.Own) != 1 || s.Own[0].Name != "web" {
		t.Error(d.read())
	}
	d.undo()
	if d.read() != before {
		t.Error(d.read())
	}
	d.o.KeepOwn = true
	if diff := cmp.Diff([]string{"added fs", "kept files", "kept jira"}, sorted(what(d.connect()))); diff != "" {
		t.Error(diff)
	}
}

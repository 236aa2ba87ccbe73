package connect

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A name that the client can't have is written so that it can, and one that it keeps for itself is told.
func TestNames(t *testing.T) {
	d := newDesk(t, "claude")
	d.o.Servers = []Server{{Name: "my files"}, {Name: "workspace"}, {Name: "my.files"}}
	d.write("{}")
	p := d.connect()
	if diff := cmp.Diff([]string{"refused workspace", "refused my_files", "added my_files"}, what(p)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(d.read(), `"--only", "my files"`) {
		t.Error(d.read())
	}
}

// A record that is broken, or a copy that isn't what it was, costs only the exactness.
func TestDamagedRecord(t *testing.T) {
	for _, glob := range []string{"*.json", "*.bak"} {
		d := newDesk(t, "codex")
		d.write("# mine\n")
		d.connect()
		paths, err := filepath.Glob(filepath.Join(d.o.Data, "connect", glob))
		if err != nil || len(paths) != 1 {
			t.Fatal(paths, err)
		}
		if err := os.WriteFile(paths[0], []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if p := d.undo(); p.Exact || d.read() != "# mine\n" {
			t.Errorf("%v %q", p.Exact, d.read())
		}
	}
}

// Only so many copies are kept, and always the one that leads back.
func TestCopiesAreBounded(t *testing.T) {
	d := newDesk(t, "cursor")
	d.write("{ }")
	for i := range 3 * maxBackups {
		d.o.Args = []string{strings.Repeat("x", i+1)}
		d.connect()
	}
	paths, err := filepath.Glob(filepath.Join(d.o.Data, "connect", "*.bak"))
	if err != nil || len(paths) > maxBackups+1 {
		t.Error(len(paths), err)
	}
	if p := d.undo(); !p.Exact || d.read() != "{ }" {
		t.Error(p.Exact, d.read())
	}
}

// G4: what comes back into a file that has gone meanwhile is for its user alone: it may hold a secret.
func TestUndoOfAFileThatIsGone(t *testing.T) {
	d := newDesk(t, "cursor")
	d.o.Project = true
	d.file = filepath.Join(d.o.Place.Dir, ".cursor", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(d.file), 0o755); err != nil {
		t.Fatal(err)
	}
	d.write(`{"mcpServers": {"fs": {"command": "x", "env": {"TOKEN": "s3cret"}}}}`)
	d.connect()
	if err := os.Remove(d.file); err != nil {
		t.Fatal(err)
	}
	d.undo()
	if info, err := os.Stat(d.file); err != nil || info.Mode().Perm() != 0o600 || !strings.Contains(d.read(), "s3cret") {
		t.Errorf("%v, %v, %s", info.Mode(), err, d.read())
	}
}

// A repository's link must not have usher write into a file of the user's elsewhere, such as its own configuration.
func TestProjectLinksOut(t *testing.T) {
	d := newDesk(t, "claude")
	d.o.Project = true
	outside, link := filepath.Join(d.o.Place.Home, "mcp.config.json"), filepath.Join(d.o.Place.Dir, ".mcp.json")
	d.file = outside
	d.write("{}")
	if err := os.MkdirAll(d.o.Place.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	if _, err := New(d.o); err == nil || !strings.Contains(err.Error(), "leads out of the project") {
		t.Error(err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	d.file = filepath.Join(d.o.Place.Dir, "shared.json")
	d.write("{}")
	if err := os.Symlink("shared.json", link); err != nil {
		t.Fatal(err)
	}
	if d.connect(); !strings.Contains(d.read(), "usher") {
		t.Error(d.read())
	}
}

// FuzzConnect: whatever a file says, connecting keeps the rest, and the undo is exact.
func FuzzConnect(f *testing.F) {
	for _, seed := range []string{`{"mcpServers":{"jira":{}}}`, "[mcp_servers.jira]\na=1\n", "extensions:\n  jira:\n    cmd: x\n", "", "mcp_servers.x.command='y'\n", "extensions: {}\n"} {
		for which := range 3 {
			f.Add(which, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		client, _ := Find([]string{"claude", "codex", "goose"}[uint(which)%3])
		edits := []edit{{name: "fs", fields: plain(launch{command: "usher"})}, {name: "jira", fields: plain(launch{command: "usher"}), whole: true}}
		entries, err := (&Plan{Client: client, File: "f"}).entries(data)
		if err != nil {
			return
		}
		out, err := client.rewrite("f", data, edits)
		if err != nil {
			return
		}
		cut := []edit{{name: "fs"}, {name: "jira"}}
		for i, e := range entries {
			if e.Name == "jira" {
				cut[1].text = entries[i].text
			}
		}
		if _, err := client.rewrite("f", out, cut[:1]); err != nil {
			t.Errorf("our entry can't be taken out of %q: %v", out, err)
		}
		if bytes.Equal(out, data) {
			t.Errorf("nothing was written into %q", data)
		}
	})
}

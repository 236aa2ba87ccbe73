package index_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/index"
	"github.com/usher-mcp/usher/event/journal"
)

// calling writes the log of a process that is killed, or ends, with a call under way to a tool of server.
func calling(t *testing.T, dir, server string, killed bool) string {
	t.Helper()
	j := start(t, journal.Options{Dir: dir})
	session, tool := "s_"+j.Host()[2:8], "mcp."+server+".read"
	add(t, j, session, event.SessionStarted{Kind: "agent"}, event.ToolCallRequested{ToolCallID: "c_1", Tool: tool},
		event.CallStarted{Server: server, ToolCallID: "c_1", Method: "tools/call"})
	flush(t, j)
	if killed {
		dir = snapshot(t, dir)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// copied puts a copy in the place of each file, as who restores a folder does.
func copied(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err == nil {
			err = os.WriteFile(name+".new", b, info.Mode().Perm())
		}
		if err == nil {
			err = os.Rename(name+".new", name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func logFiles(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	return names
}

// H7: a folder that was restored, with the files of many processes, gets its index at once, not a process at a time.
func TestRestoredFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 8 {
		calling(t, dir, "fs", false)
	}
	indexed(t, dir).Close()
	copied(t, logFiles(t, dir)...)
	got, _ := find(t, indexed(t, dir), index.Query{Tool: "mcp.fs.read", Limit: 1 << 30})
	same(t, got, choose(see(t, timeline(t, dir)), index.Query{Tool: "mcp.fs.read"}))
}

// H7: what a file says of calls that later files close is found however late that file comes (back).
func TestRestoredFile(t *testing.T) {
	t.Parallel()
	dir := calling(t, t.TempDir(), "fs", true)
	early := logFiles(t, dir)[0]
	calling(t, dir, "git", false) // and closes what the one before left open
	if len(timeline(t, dir)) < 9 {
		t.Fatal("nothing was recovered")
	}
	b, err := os.ReadFile(early)
	if err == nil {
		err = os.Remove(early)
	}
	if err != nil {
		t.Fatal(err)
	}
	indexed(t, dir).Close()
	if err := os.WriteFile(early, b, 0o400); err != nil {
		t.Fatal(err)
	}
	for _, q := range []index.Query{{Tool: "mcp.fs.read", Limit: 1 << 30}, {Server: "fs"}, {Limit: 1 << 30}} {
		got, _ := find(t, indexed(t, dir), q)
		same(t, got, choose(see(t, timeline(t, dir)), q), q)
	}
}

// H7: what only files named that are gone is forgotten: the index doesn't grow with what was, and decides nothing by it.
func TestRemovedFilesAreForgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := start(t, journal.Options{Dir: dir})
	add(t, j, j.Host(), event.ServerConnected{Server: "a.b", Transport: "stdio"})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = start(t, journal.Options{Dir: dir})
	add(t, j, "s_x", event.SessionStarted{Kind: "agent"}, event.ToolStarted{Tool: "mcp.a.b.read", ToolCallID: "c_2"},
		event.CallStarted{Server: "a", ToolCallID: "c_3", Method: "resources/read"})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	indexed(t, dir).Close()
	if err := os.Remove(logFiles(t, dir)[0]); err != nil {
		t.Fatal(err)
	}
	l := indexed(t, dir)
	q := index.Query{Server: "a"}
	got, _ := find(t, l, q)
	direct, _ := find(t, index.OpenDirect(dir), q)
	same(t, got, direct)
	if names, _ := l.Servers(t.Context()); slices.Contains(names, "a.b") {
		t.Errorf("it still knows %q", names)
	}
	if tools, _ := l.Tools(t.Context()); len(tools) != 1 {
		t.Error(fmt.Sprint(tools))
	}
}

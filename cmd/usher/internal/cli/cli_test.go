package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be usher itself, its watchdog included.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"usher": func() { accountHome = os.Getenv("USHER_TEST_ACCOUNT"); os.Exit(Main()) }, "oddserver": oddServer, "poster": poster})
}

// N3: each command as a person types it, with its exit code and its hint.
func TestScripts(t *testing.T) {
	servers := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(servers, "testserver"), "github.com/usher-mcp/usher/test/server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the test server can't be built: %v\n%s", err, out)
	}
	// A usher whose administrator's file is managed.json in the working folder.
	build = exec.Command("go", "build", "-ldflags", "-X github.com/usher-mcp/usher/config.managedPath=managed.json",
		"-o", filepath.Join(servers, "managedusher"), "github.com/usher-mcp/usher/cmd/usher")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("usher can't be built: %v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Values[serverKey{}] = new(server)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "config"))
			e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, "data"))
			e.Setenv("CONFIG", filepath.Join(e.WorkDir, "config", "usher", "mcp.config.json"))
			e.Setenv("JOURNAL", filepath.Join(e.WorkDir, "data", "usher", "journal"))
			e.Setenv("PATH", servers+string(filepath.ListSeparator)+e.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"running": running,
			"post":    post,
			"stop":    stop,
			"told":    told,
			"flip":    flip,
			"kill":    kill,
			"expand":  expand,
			"mask":    mask,
			"mode":    mode,
			"typing":  typing,

			"question": leaveQuestion,
		},
	})
}

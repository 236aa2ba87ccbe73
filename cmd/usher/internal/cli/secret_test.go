package cli

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/usher-mcp/usher/internal/keyring/keyringtest"
)

// G4: secrets in a real keyring, one for each script, as a person types it.
func TestSecretScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/keyring/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		session := keyringtest.Start(t)
		testscript.Run(t, testscript.Params{
			Files:               []string{file},
			RequireExplicitExec: true,
			Setup: func(e *testscript.Env) error {
				e.Vars = append(e.Vars, session...)
				e.Setenv("USHER_CONFIG", e.WorkDir+"/mcp.config.json")
				e.Setenv("XDG_DATA_HOME", e.WorkDir+"/data")
				return nil
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		})
	}
}

package cli

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/usher-mcp/usher/internal/keyring/keyringtest"
)

// G4: secrets in a real keyring of its own, as a person types it.
func TestSecretScripts(t *testing.T) {
	session := keyringtest.Start(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/keyring",
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

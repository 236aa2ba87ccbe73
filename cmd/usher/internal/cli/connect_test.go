package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/connect"
)

// O5: in a terminal what changes is shown in full, also in a file of one long line.
func TestWholeDifference(t *testing.T) {
	master, slave, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	shown := make(chan string)
	go func() {
		b, _ := io.ReadAll(master) // EIO at its end
		shown <- string(b)
	}()
	(&app{err: &terminal{File: slave, tty: true}}).showDiff(&connect.Plan{
		Before: []byte(`{"mcpServers": {"a": {"command": "` + strings.Repeat("x", 100) + `"}, "b": {"command": "was"}}}` + "\n"),
		After:  []byte(`{"mcpServers": {"a": {"command": "` + strings.Repeat("x", 100) + `"}, "b": {"command": "is"}}}` + "\n"),
	})
	slave.Close()
	if s := <-shown; !strings.Contains(s, `"was"}}}`) || !strings.Contains(s, `"is"}}}`) {
		t.Error(s)
	}
}

// G4: what a client's file has in it isn't shown where it looks secret, in any of the formats.
func TestMaskedDifference(t *testing.T) {
	for _, text := range []string{
		`+  "env": {"API_TOKEN": "hunter22"}, "x": 1`, `+API_KEY = 'hunter22'`, `-    password: hunter22`,
		`+  "args": ["--token", "hunter22", "-y"]`, "+  \"--token\",\n+  \"hunter22\",", "-  - --api-key\n-  - hunter22",
		`+ "Authorization": "Bearer hunter22"`, `+ "x": "bearer hunter22"`, `+ "url": "https://me:hunter22@x.example"`, `+ "a": "sk-hunter22"`,
		`+ "args": ["--token=hunter22"]`, `+ "url": "https://x.example?api_key=hunter22"`,
	} {
		m := new(masker)
		var shown []string
		for l := range strings.Lines(text) {
			shown = append(shown, m.line(strings.TrimSuffix(l, "\n")))
		}
		if got := strings.Join(shown, "\n"); strings.Contains(got, "hunter22") {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	for _, text := range []string{`+ "args": ["stdio", "--only", "jira"]`, `+env_vars = ["JIRA_TOKEN"]`, `+ "JIRA_TOKEN": "$JIRA_TOKEN"`} {
		if got := new(masker).line(text); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

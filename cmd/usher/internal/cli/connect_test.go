package cli

import (
	"strings"
	"testing"
)

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

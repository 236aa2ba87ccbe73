package foreign

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a file holds: nothing panics, lines are lines of it, and what is written is JSON without the secret.
func FuzzParse(f *testing.F) {
	products := Products()
	seeds, _ := filepath.Glob("testdata/read/*.txtar")
	for i, path := range seeds {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		text := string(data)
		if from := strings.Index(text, " --\n"); from >= 0 {
			text, _, _ = strings.Cut(text[from+4:], "-- want --")
		}
		for _, ending := range []string{".json", ".toml", ".yaml"} {
			f.Add(i, ending, text)
		}
	}
	f.Fuzz(func(t *testing.T, product int, ending, text string) {
		p := products[uint(product)%uint(len(products))]
		r := Parse(Machine{Home: "/home/u", Dir: "/proj"}, Place{Product: p.Name, Path: "/x" + ending, Project: "/proj"}, []byte(text))
		lines := strings.Count(text, "\n") + 1
		for _, n := range r.Notes {
			if n.Line < 0 || n.Line > lines+1 && !strings.HasPrefix(text, "\xff\xfe") && !strings.HasPrefix(text, "\xfe\xff") && ending != ".yaml" {
				t.Errorf("line %d of %d", n.Line, lines)
			}
		}
		for _, e := range r.Entries {
			if !json.Valid(e.JSON()) {
				t.Errorf("not JSON: %s", e.JSON())
			}
			_ = e.refused(e.Name)
			_ = e.named("other")
		}
		if _, err := Make(Input{Readings: []*Reading{r}}); err != nil {
			t.Error(err)
		}
	})
}

// A secret under a name that says so never gets into the entry, whatever it is.
func FuzzMask(f *testing.F) {
	f.Add("hunter2-x9", "API_KEY")
	f.Add("Bearer abc def", "Authorization")
	f.Add("${a", "TOKEN")
	f.Fuzz(func(t *testing.T, secret, name string) {
		if !secretName(name) || harmless(secret) || len(secret) < 6 || strings.ContainsAny(secret, "$ \t`{\x00") || strings.Contains("${keyring:s/"+clean(name)+"}", secret) {
			return
		}
		text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": map[string]any{"command": "x", "env": map[string]string{name: secret}}}})
		if err != nil || strings.ContainsRune(name+secret, '\ufffd') || strings.Contains(name, secret) {
			return
		}
		for _, e := range Parse(Machine{}, Place{Product: "claude", Path: "x.json"}, text).Entries {
			for _, p := range e.Env {
				if strings.Contains(p.Value, secret) {
					t.Errorf("%s: the secret is in %s", name, p.Value)
				}
			}
		}
	})
}

package foreign_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/config/foreign"
)

// Each file has what several products say, what usher has, and what becomes of it. Doing it again changes nothing. G5
func TestPlan(t *testing.T) {
	files, err := filepath.Glob("testdata/plan/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			in := planned(a)
			p := made(t, in)
			got := dumpPlan(p)
			if strings.Contains(got, "made-up") {
				t.Error("a secret is in the result")
			}
			in.Imported = p.New
			if again := made(t, in); again.Changes() {
				t.Errorf("once more:\n%s", cmp.Diff(string(p.New), string(again.New)))
			}
			if *update {
				a.Files = append(inputs(a), txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(a.Files[len(a.Files)-1].Data), got); d != "" {
				t.Error(d)
			}
		})
	}
}

func made(t *testing.T, in foreign.Input) *foreign.Plan {
	t.Helper()
	p, err := foreign.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.ParseFrom("imported.json", p.New, config.From{
		Source: config.SourceImported, Env: func(string) (string, bool) { return "x", true }, Keyring: func(string) (string, error) { return "x", nil },
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, p.New)
	}
	for _, problem := range c.Problems {
		t.Error(problem)
	}
	return p
}

func planned(a *txtar.Archive) foreign.Input {
	in := foreign.Input{As: map[string]string{}}
	for line := range strings.Lines(string(a.Comment)) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "as: "); ok {
			id, name, _ := strings.Cut(rest, "=")
			in.As[id] = name
		}
		in.Shared = in.Shared || line == "shared: true"
	}
	for _, f := range inputs(a) {
		product, path, _ := strings.Cut(f.Name, " ")
		switch product {
		case "user":
			in.User = f.Data
		case "imported":
			in.Imported = f.Data
		default:
			place := foreign.Place{Product: product, Path: "/home/u/" + path}
			if rest, ok := strings.CutPrefix(path, "proj:"); ok {
				place = foreign.Place{Product: product, Path: "/proj/" + rest, Project: "/proj", Shared: true}
			}
			in.Readings = append(in.Readings, foreign.Parse(foreign.Machine{Home: "/home/u", Dir: "/proj"}, place, f.Data))
		}
	}
	return in
}

func dumpPlan(p *foreign.Plan) string {
	var b bytes.Buffer
	for _, s := range p.Servers {
		fmt.Fprintf(&b, "%s %s (%s) %s %s\n", s.State, s.Name, s.From, s.With, s.Why)
	}
	for _, r := range p.Rules {
		fmt.Fprintf(&b, "%s %s %s (%s) %s\n", r.State, r.List, r.Text, r.Product, r.Why)
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note %s %s: %s\n", n.Where, n.Field, n.Message)
	}
	for _, s := range p.Secrets {
		fmt.Fprintf(&b, "secret %s\n", s.Name)
	}
	fmt.Fprintf(&b, "imported.json:\n%s", p.New)
	return b.String()
}

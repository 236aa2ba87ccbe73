package foreign_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/usher-mcp/usher/config/foreign"
)

var update = flag.Bool("update", false, "write the results into testdata")

// Each file has a product's configuration, and what is read of it. G5
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			place, data := placed(t, a)
			got := dump(foreign.Parse(foreign.Machine{Home: "/home/u", Dir: "/proj/sub"}, place, data))
			if strings.Contains(got, "made-up") {
				t.Error("a secret is in the result")
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

func inputs(a *txtar.Archive) (all []txtar.File) {
	for _, f := range a.Files {
		if f.Name != "want" {
			all = append(all, f)
		}
	}
	return all
}

// placed reads the lines before the files: product, project, and the file where it isn't in the archive.
func placed(t *testing.T, a *txtar.Archive) (p foreign.Place, data []byte) {
	t.Helper()
	for line := range strings.Lines(string(a.Comment)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "product":
			p.Product = value
		case "project":
			p.Project, p.Shared = value, true
		case "file":
			var err error
			if data, err = os.ReadFile(filepath.Join("testdata/read", value)); err != nil {
				t.Fatal(err)
			}
			p.Path = "/home/u/" + filepath.Base(value)
		}
	}
	if all := inputs(a); len(all) > 0 {
		p.Path, data = filepath.Join("/home/u", p.Project, all[0].Name), all[0].Data
	}
	return p, data
}

func dump(r *foreign.Reading) string {
	var b bytes.Buffer
	short := func(w foreign.Where) string { return fmt.Sprintf("%d %s", w.Line, w.Field) }
	if r.Err != nil {
		fmt.Fprintln(&b, "error:", r.Err)
	}
	for _, e := range r.Entries {
		fmt.Fprintf(&b, "server %s (%s)\n", e.Name, short(e.Where))
		fmt.Fprintf(&b, "  %s\n", bytes.ReplaceAll(e.JSON(), []byte("\n"), nil))
		for _, s := range e.Secrets {
			fmt.Fprintf(&b, "  secret %s (%s) %s %v\n", s.Name, short(s.Where), s.Hint, len(s.Value.Reveal()))
		}
	}
	for _, x := range r.Rules {
		fmt.Fprintf(&b, "%s %s (%s) %s\n", x.List, x.Pattern(x.Server), short(x.Where), x.When)
	}
	for _, n := range r.Notes {
		kind := "note"
		if n.Lost {
			kind = "lost"
		}
		fmt.Fprintf(&b, "%s %s: %s\n", kind, short(n.Where), n.Message)
	}
	return b.String()
}

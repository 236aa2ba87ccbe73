package repair

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Shapes that the common generators of tools write, with what becomes of them (beside them, in .want).
func TestTools(t *testing.T) {
	files, err := filepath.Glob("testdata/tools/*.json")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".want")
		if err != nil {
			t.Error(err)
		}
		if got := string(repaired(t, string(in)).Schema); got != strings.TrimSpace(string(want)) {
			t.Errorf("%s becomes\n%s", file, got)
		}
	}
}

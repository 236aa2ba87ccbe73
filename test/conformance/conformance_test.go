// Package conformance_test runs the official conformance suite (@modelcontextprotocol/conformance, pinned in test/real)
// against `usher conformance`, which is the product's own client.
package conformance_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	parts = "../real"
	suite = parts + "/node_modules/@modelcontextprotocol/conformance/dist/index.js"
)

var usherBinary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if out, err := exec.Command(parts + "/install.sh").CombinedOutput(); err != nil {
		panic("install.sh: " + err.Error() + "\n" + string(out))
	}
	dir, err := os.MkdirTemp("", "usher-conformance-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	usherBinary = filepath.Join(dir, "usher")
	if out, err := exec.Command("go", "build", "-o", usherBinary, "../../cmd/usher").CombinedOutput(); err != nil {
		panic("go build: " + err.Error() + "\n" + string(out))
	}
	return m.Run()
}

// revisions are the suite's frozen requirements. Passing are the required scenarios that need no OAuth, all of which
// must pass; the others are in baseline.yml.
var revisions = []struct {
	name     string
	required int // scenarios in all
	passing  []string
	unscored []string // that pass all the same
}{
	{
		"2025-11-25", 18,
		[]string{"elicitation-sep1034-client-defaults", "initialize", "sse-retry", "tools_call"},
		[]string{"json-schema-2020-12-preservation"},
	},
	{
		"2026-07-28", 32,
		[]string{
			"http-custom-headers", "http-invalid-tool-headers", "http-standard-headers", "json-schema-ref-no-deref",
			"request-metadata", "sep-2322-client-request-state", "tools_call",
		},
		[]string{"json-schema-2020-12-preservation"},
	},
}

// extensions are run by the suite, but not scored.
var extensions = []string{
	"auth/client-credentials-basic", "auth/client-credentials-jwt", "auth/dpop", "auth/dpop-nonce",
	"auth/enterprise-managed-authorization", "auth/wif-jwt-bearer",
}

// B10: the client side of the suite, for each revision.
func TestClient(t *testing.T) {
	expected := baseline(t)
	for _, r := range revisions {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			results := runSuite(t, r.name)
			var passed, required []string
			for name, result := range results {
				if !slices.Contains(r.unscored, name) && !slices.Contains(extensions, name) {
					required = append(required, name)
				}
				switch {
				case result.passed():
					passed = append(passed, name)
				case !slices.Contains(expected, name) && !slices.Contains(extensions, name):
					result.explain(t)
				}
			}
			if len(required) != r.required {
				t.Errorf("%d required scenarios ran, want %d", len(required), r.required)
			}
			want := slices.Concat(r.passing, r.unscored)
			slices.Sort(want)
			slices.Sort(passed)
			if !slices.Equal(passed, want) {
				t.Errorf("passed:\n%s\nwant:\n%s", strings.Join(passed, "\n"), strings.Join(want, "\n"))
			}
			t.Logf("%s: %d of %d required scenarios pass", r.name, len(passed)-len(r.unscored), len(required))
		})
	}
}

// baseline reads the scenarios that are known to fail. Nothing but OAuth may be among them.
func baseline(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("baseline.yml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for l := range strings.Lines(string(text)) {
		name, ok := strings.CutPrefix(l, "  - ")
		if !ok {
			continue
		}
		names = append(names, strings.TrimSpace(name))
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "auth/") {
			t.Errorf("baseline.yml lists %s, which needs no OAuth", name)
		}
	}
	return names
}

// runSuite returns the result of each scenario. All scenarios run at once, each with a server of its own.
func runSuite(t *testing.T, revision string) map[string]result {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), parts+"/node_modules/.bin/node", suite, "client",
		"--command", usherBinary+" conformance", "--requirements", revision, "--expected-failures", "baseline.yml", "-o", dir)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if _, isExit := errors.AsType[*exec.ExitError](err); err != nil && !isExit {
		t.Fatal(err)
	} else if err != nil {
		summary := string(out)
		if at := strings.Index(summary, "=== SUITE SUMMARY ==="); at >= 0 {
			summary = summary[at:]
		}
		t.Errorf("the suite ended with %v\n%s", err, summary)
	}
	return readResults(t, dir)
}

// check is what the suite found of one rule.
type check struct {
	ID, Name, Description, Status, ErrorMessage string
	Details                                     json.RawMessage
}

func (c check) failed() bool { return c.Status == "FAILURE" || c.Status == "WARNING" }

type result struct {
	name           string
	checks         []check
	stdout, stderr string // of usher
}

// passed is stricter than the suite, which forgives a client that ends with an error.
func (r result) passed() bool {
	succeeded := slices.ContainsFunc(r.checks, func(c check) bool { return c.Status == "SUCCESS" })
	return succeeded && !slices.ContainsFunc(r.checks, check.failed) &&
		(strings.HasPrefix(r.name, "auth/") || strings.HasSuffix(r.stdout, "done\n"))
}

// explain tells which check failed, and with which evidence.
func (r result) explain(t *testing.T) {
	t.Helper()
	var b strings.Builder
	for _, c := range r.checks {
		if c.failed() {
			b.WriteString("  " + c.Status + " " + c.ID + " (" + c.Name + "): " + c.Description + "\n    " + c.ErrorMessage + "\n    " + string(c.Details) + "\n")
		}
	}
	t.Errorf("%s\n%s  usher's output:\n%s%s", r.name, b.String(), r.stdout, r.stderr)
}

var startTime = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// readResults reads DIR/SCENARIO-TIME/checks.json; a scenario's name may have a folder in it.
func readResults(t *testing.T, dir string) map[string]result {
	t.Helper()
	results := map[string]result{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "checks.json" {
			return err
		}
		folder := filepath.Dir(path)
		name, err := filepath.Rel(dir, folder)
		if err != nil {
			return err
		}
		r := result{name: startTime.ReplaceAllString(name, ""), stdout: read(t, folder+"/stdout.txt"), stderr: read(t, folder+"/stderr.txt")}
		if err := json.Unmarshal([]byte(read(t, path)), &r.checks); err != nil {
			return err
		}
		results[r.name] = r
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

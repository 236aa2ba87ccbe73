package transporttest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/config"
)

const (
	root     = "../.."
	document = root + "/docs/transports.md"
)

// properties are the rows of each transport's table.
var properties = []string{
	"order", "concurrency", "cancellation", "large messages", "half-open peers", "close by us", "close by the server",
	"backpressure", "10,000 messages", "faithful bytes", "auth",
}

// The matrix transport × era × property has no empty cell, and the tests that it names are there.
func TestMatrix(t *testing.T) {
	sections := read(t)
	for _, name := range transports(t) {
		rows := sections[name]
		if rows == nil {
			t.Errorf("%s has no table", name)
			continue
		}
		for _, property := range properties {
			if _, ok := rows[property]; !ok {
				t.Errorf("%s has no row %q", name, property)
			}
		}
	}
	names := newNames(t)
	for name, rows := range sections {
		for property, cells := range rows {
			if len(cells) != 2 {
				t.Errorf("%s, %s: %d cells, want one for each era", name, property, len(cells))
			}
			for i, cell := range cells {
				if why := names.check(name, i, cell); why != "" {
					t.Errorf("%s, %s, %q: %s", name, property, cell, why)
				}
			}
		}
	}
}

// transports are the folders that have a transport.
func transports(t *testing.T) []string {
	t.Helper()
	found := []string{"gosdk"}
	entries, err := os.ReadDir(root + "/transport")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "transporttest" {
			found = append(found, "transport/"+e.Name())
		}
	}
	return found
}

// read returns the cells of each table with two eras, by the heading above it and the first cell of the row.
func read(t *testing.T) map[string]map[string][]string {
	t.Helper()
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	sections := make(map[string]map[string][]string)
	heading, inside := "", false
	for l := range strings.SplitSeq(string(b), "\n") {
		switch {
		case strings.HasPrefix(l, "#"):
			heading = strings.Trim(l, "# ")
		case l == "| | up to 2025-11-25 | 2026-07-28 |":
			sections[heading], inside = make(map[string][]string), true
		case !strings.HasPrefix(l, "|"):
			inside = false
		case inside && !strings.HasPrefix(l, "|-"):
			cells := strings.Split(strings.Trim(l, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			sections[heading][cells[0]] = cells[1:]
		}
	}
	return sections
}

// names are the tests of the tree, read from its sources.
type names struct {
	t       *testing.T
	sources map[string]string // by folder: all test files
	suite   string            // the subtests that the suite adds to each transport
}

func newNames(t *testing.T) *names {
	n := &names{t: t, sources: make(map[string]string)}
	n.suite = n.glob("transport/transporttest/*.go")
	return n
}

func (n *names) glob(pattern string) string {
	files, _ := filepath.Glob(filepath.Join(root, pattern))
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			n.t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

var (
	quoted    = regexp.MustCompile("`([^`]+)`")
	reference = regexp.MustCompile(`^(?:([a-z/0-9]+)\.)?(Test\w+)(?:/(.+))?$`)
)

// check says what is wrong with a cell.
func (n *names) check(section string, column int, cell string) string {
	found := 0
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		if r := reference.FindStringSubmatch(m[1]); r != nil {
			found++
			if why := n.missing(section, r[1], r[2], r[3]); why != "" {
				return why
			}
		} else if !strings.HasPrefix(cell, "—") {
			return m[1] + " is no test"
		}
	}
	switch explanation, explained := strings.CutPrefix(cell, "— "); {
	case cell == "=" && column == 1, explained && len(explanation) > 20, !explained && found > 0:
		return ""
	}
	return "neither a test nor a reason"
}

func (n *names) missing(section, folder, test, sub string) string {
	if folder == "" {
		folder = section
	}
	source, ok := n.sources[folder]
	if !ok {
		source = n.glob(folder + "/*_test.go")
		n.sources[folder] = source
	}
	if !strings.Contains(source, "\nfunc "+test+"(t *testing.T)") {
		return "there is no " + test + " in " + folder
	}
	if strings.Contains(source, "transporttest.Run") {
		source += n.suite
	}
	if !spelled(source, sub) {
		return "nothing in " + folder + " is called " + sub
	}
	return ""
}

// spelled reports whether a path of subtests is made of texts that stand in the source.
func spelled(source, path string) bool {
	if path == "" || strings.Contains(source, `"`+path+`"`) {
		return true
	}
	for i, c := range path {
		if c == '/' && strings.Contains(source, `"`+path[:i]+`"`) && spelled(source, path[i+1:]) {
			return true
		}
	}
	return false
}

// A cell that rots is found.
func TestMatrixCheck(t *testing.T) {
	n := newNames(t)
	for _, bad := range []string{
		"", "=", "—", "— no", "`TestGone`", "`TestSuite/gone`", "`TestSuite/TCP/gone`", "yes", "`TestSuite`, `gone`", "— see the reason in `TestGone`",
		"`transport/gone.TestSuite`",
	} {
		if n.check("transport/grpc", 0, bad) == "" {
			t.Errorf("%q passes", bad)
		}
	}
	for _, good := range []string{"`TestSuite/TCP/order`", "`transport/http.TestSuite/HTTP/1.1/10,000 messages`"} {
		if why := n.check("transport/grpc", 0, good); why != "" {
			t.Errorf("%q: %s", good, why)
		}
	}
}

// B10: the entries of the document are read without a complaint, as what its table calls them.
func TestEntries(t *testing.T) {
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\n```jsonc\n(.*?)```\n").FindSubmatch(b)
	if block == nil {
		t.Fatal("there is no example")
	}
	c, err := config.Parse(document, block[1], func(string) (string, bool) { return "value", true })
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Problems {
		t.Error(p)
	}
	var kinds []string
	for _, s := range c.Servers {
		kinds = append(kinds, s.Name+" "+s.Transport)
	}
	want := []string{"desk ws", "fast grpc", "files stdio", "live ws", "old sse", "tracker http"}
	if !slices.Equal(kinds, want) {
		t.Errorf("the entries are %q, want %q", kinds, want)
	}
}

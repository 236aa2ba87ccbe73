package permission

import "fmt"

// Grant is a person's lasting "yes" to one tool as it was then: for this entry of the configuration (a hash), this
// definition of the tool (a hash) and this resolved package (`npm:name@1.2.3`, or empty where none was known). If any
// of them is another now, it doesn't count. A package that isn't known now is no other: the caller looks again when the
// server runs.
type Grant struct {
	Target
	Entry      string
	Definition string
	Package    string
	File       string
	Line       int
}

// stale says why the grant doesn't count for the call, or "".
func (g *Grant) stale(c *Call) string {
	switch {
	case g.Definition == "" || g.Entry == "" && c.Server != "":
		return "the grant says nothing of the definition or the entry that it was given for"
	case g.Entry != c.Entry:
		return "the server's entry in the configuration has changed since it was allowed"
	case g.Definition != c.Definition:
		return "the tool's definition has changed since it was allowed"
	case g.Package == c.Package, c.Package == "":
		return ""
	case g.Package == "":
		return fmt.Sprintf("it was allowed when its package wasn't known, which is %s now", c.Package)
	}
	return fmt.Sprintf("the package is %s now, and it was allowed for %s", c.Package, g.Package)
}

package permission

import "fmt"

// Condition is what must hold besides a rule's pattern. Where it returns an error, a deny or ask rule counts as
// matching and an allow rule as not. It must be safe for concurrent use and must not keep the call. A String method,
// if it has one, gives the text that Version and Explain use.
type Condition interface {
	Holds(c *Call) (bool, error)
}

// Broken is the condition of a rule whose own can't be used: source is its text, err what is wrong with it. A deny or
// ask rule with it is as one without a condition, an allow rule with it never matches.
func Broken(source string, err error) Condition { return broken{source, err} }

type broken struct {
	source string
	err    error
}

var _ Condition = broken{}

func (b broken) Holds(*Call) (bool, error) { return false, b.err }
func (b broken) String() string            { return b.source }

func textOf(c Condition) string {
	switch c := c.(type) {
	case nil:
		return ""
	case fmt.Stringer:
		return c.String()
	}
	return fmt.Sprintf("%T", c)
}

package permission

import (
	"fmt"

	"github.com/usher-mcp/usher/mcp"
)

// Risk is what a call may do, from the least to the worst.
type Risk uint8

// The risks. A tool that says nothing about itself is Network.
const (
	Read Risk = iota + 1
	Write
	Network
	Execute
	Destructive
)

var riskNames = [...]string{"", "read", "write", "network", "execute", "destructive"}

// String returns the name that configuration and events use.
func (r Risk) String() string {
	if int(r) < len(riskNames) {
		return riskNames[r]
	}
	return fmt.Sprintf("risk(%d)", r)
}

// ParseRisk reads a name that String gives.
func ParseRisk(s string) (Risk, error) {
	for i, name := range riskNames[1:] {
		if s == name {
			return Risk(i + 1), nil
		}
	}
	return 0, fmt.Errorf("unknown risk %q: write read, write, network, execute or destructive", s)
}

// Assess derives the risk of a tool from its server's hints. Hints may always raise it; they lower it below Network
// only where the user trusts the server's word. A tool that says both, that it reads only and that it destroys, is
// taken at its worst.
func Assess(a mcp.Annotations, trusted bool) Risk {
	if is(a.Destructive, true) {
		return Destructive
	}
	switch {
	case !trusted:
		return Network
	case is(a.ReadOnly, true):
		return Read
	case is(a.Destructive, false) && is(a.OpenWorld, false):
		return Write
	}
	return Network
}

func is(b *bool, want bool) bool { return b != nil && *b == want }

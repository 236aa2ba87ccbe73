package permission

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is how a session treats what no rule decides. In every mode a deny rule comes first.
type Mode uint8

// The modes. Default is the zero value.
const (
	Default     Mode = iota // reads run, all else asks
	AcceptReads             // as Default, and a tool that calls itself read-only runs though its server's hints aren't trusted
	Plan                    // only reads run, all else is denied
	DontAsk                 // nobody is asked: what would ask is denied, and what no rule, grant or list lets run, too
	Bypass                  // what would ask only because no rule is about it runs; ask rules and destructive calls still ask
)

var modeNames = [...]string{"default", "accept-reads", "plan", "dont-ask", "bypass"}

// String returns the name that configuration uses.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode(%d)", m)
}

// ParseMode reads a name that String gives.
func ParseMode(s string) (Mode, error) {
	if i := slices.Index(modeNames[:], s); i >= 0 {
		return Mode(i), nil
	}
	return DontAsk, fmt.Errorf("unknown mode %q: write one of %s", s, strings.Join(modeNames[:], ", "))
}

// ModeOf returns the mode that counts for a session that wants m: m itself where Modes names it or is empty, else
// Default, and where Modes doesn't name that either, the first of Modes. A mode that doesn't exist counts as DontAsk.
func (p *Policy) ModeOf(m Mode) Mode {
	switch {
	case int(m) >= len(modeNames):
		m = DontAsk
		fallthrough
	case len(p.Modes) == 0 || slices.Contains(p.Modes, m):
		return m
	case slices.Contains(p.Modes, Default):
		return Default
	}
	return p.Modes[0]
}

package permission

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Version names the policy by what it says: a hash over its rules, labels and modes, but not its grants. Where a rule
// stands, and in which order, isn't part of it. A condition counts by its String method's text.
func (p *Policy) Version() string {
	h := sha256.New()
	for i, list := range [...][]Rule{p.Deny, p.Ask, p.Allow} {
		lines := make([]string, 0, len(list))
		for _, r := range list {
			lines = append(lines, fmt.Sprintf("%d%q%q%q%q%t", i, r.Pattern, textOf(r.When), r.Entry, r.Scope, r.When == nil))
		}
		slices.Sort(lines)
		for _, line := range lines {
			fmt.Fprintln(h, line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Labels)) {
		fmt.Fprintf(h, "%q%d%q\n", name, p.Labels[name].Risk, p.Labels[name].Hash)
	}
	fmt.Fprintln(h, p.Modes)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

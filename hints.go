package usher

import (
	"fmt"
	"strings"

	"github.com/usher-mcp/usher/permission"
)

// allowHint names the command that would let such a call in from then on, and says what it would mean.
func allowHint(c *call, d permission.Decision) string {
	usher, name, r := c.s.h.o.Command, shellQuote(c.name), d.Rule
	switch {
	case d.SourcedFrom == fromFlow:
		return "It asks once in a session for each such pair. What counts as private or as going out is written under flows.labels of the configuration"
	case r != nil && r.Note != "":
		return fmt.Sprintf("To see what to repair, run: %s doctor", usher)
	case r != nil:
		return "No allow rule comes before an ask rule: to let it run without a question, take that one out"
	case c.risk >= permission.Destructive:
		return fmt.Sprintf("To let this tool, as it is defined now, run without a question from then on: %s allow %s --risk write", usher, name)
	case c.isLocal():
		return fmt.Sprintf("To allow it, run: %s allow %s", usher, name)
	}
	return fmt.Sprintf("To allow it, run: %s allow %s (or all of this server: %s allow %s)", usher, name, usher, shellQuote("mcp."+c.tool.Server+".*"))
}

// shellWord is s where that is one plain word of a shell, else quoted.
func shellWord(s string) string {
	for _, r := range s {
		if r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return shellQuote(s)
		}
	}
	return s
}

// shellQuote makes s one word of a shell, whatever a server put into it.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// askedBecause says why a call needs a person's word.
func askedBecause(c *call, d permission.Decision) string { return strings.Join(reasons(c, d), "; ") }

// reasons are all that makes the call ask, the most telling first.
func reasons(c *call, d permission.Decision) []string {
	var all []string
	if c.flow != nil {
		all = append(all, c.flow.Why())
	}
	switch r := d.Rule; {
	case d.SourcedFrom == fromFlow:
		return all
	case r != nil && r.Note != "":
		all = append(all, r.Note)
	case r != nil:
		all = append(all, "the rule "+where(r)+" asks")
	case d.Why != "":
		all = append(all, d.Why)
	default:
		all = append(all, "its risk is "+c.risk.String())
	}
	if says := c.tool.Def.Annotations.ReadOnly; says != nil && *says && !c.server.TrustHints && c.risk > permission.Read {
		all = append(all, "that it only reads is its own word, which doesn't count for this server")
	}
	if d.Stale != "" {
		all = append(all, d.Stale)
	}
	return all
}

func pattern(r *permission.Rule) string {
	if r == nil {
		return ""
	}
	return r.Pattern
}

func where(r *permission.Rule) string {
	if r.File == "" {
		return r.Pattern
	}
	return fmt.Sprintf("%s (%s:%d)", r.Pattern, r.File, r.Line)
}

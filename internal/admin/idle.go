package admin

import "github.com/usher-mcp/usher/config"

// States of a server that may not run.
const (
	StateUntrusted = "not trusted" // a folder brings it, and the user hasn't said yes
	StateBlocked   = "blocked"     // by the administrator's policy
)

// Idle are the servers of a configuration that may not run, with the reason of those that are blocked.
func Idle(c *config.Config) []Server {
	redact := redactor(c)
	var all []Server
	add := func(s config.Server, state, reason string) {
		e := entry(s, redact)
		e.State, e.Reason = state, reason
		all = append(all, e)
	}
	for _, s := range c.Pending {
		add(s, StateUntrusted, "")
	}
	for _, b := range c.Blocked {
		add(b.Server, StateBlocked, redact(b.Reason))
	}
	return all
}

package permission

// The sources of the configuration, from the strongest to the weakest. Rule.Scope and Call.Source hold one of them, or
// nothing for what a program brings itself.
const (
	sourceManaged     = "managed"
	sourceCommandLine = "command-line"
	sourceLocal       = "local"
	sourceProject     = "project"
	sourceUser        = "user"
	sourceImported    = "imported"
)

// permits reports whether an allow rule of this scope may let a call to a server of the call's source run. Local tools are
// the program's own. Nothing may for a
// server that a project brings: somebody else wrote that. A rule bound to an entry reaches just that entry.
func (r *Rule) permits(c *Call) bool {
	if r.Scope == sourceProject {
		return false
	}
	if r.Entry != "" {
		return r.Entry == c.Entry
	}
	switch r.Scope {
	case sourceManaged:
		return c.Source == sourceManaged || c.Source == "" && c.Server == ""
	case sourceCommandLine, sourceLocal, sourceUser, "":
		return mine(c.Source)
	case sourceImported:
		return mine(c.Source) || c.Source == sourceImported
	}
	return false
}

func mine(source string) bool {
	switch source {
	case sourceManaged, sourceCommandLine, sourceLocal, sourceUser, "":
		return true
	}
	return false
}

package config

// rootFields are those of the user's own file, but for the other spelling of policyNames. Read only.
var rootFields = []string{"mcpServers", "servers", "defaults", "profile", "permissions", "approvals", "flows", "projects", "log", "locale",
	"errors", "allowedServers", "deniedServers", "$schema"}

func (r *reader) readRoot() error {
	if err := r.doc.repeatedOutsideServers(); err != nil {
		return err
	}
	fields := fieldsOf(r.doc.object, "")
	if r.from.Source == SourceLocal {
		fields = r.localFields(fields)
	}
	fields = r.permitted(fields)
	r.readBase(fields)
	for _, f := range fields {
		r.readRootField(f)
	}
	return nil
}

func (r *reader) readRootField(f field) {
	switch f.name {
	case "mcpServers", "servers":
		r.cfg.file.said["mcpServers"] = true
		r.readServers(f)
	case "permissions":
		r.readPermissions(f)
	case "approvals":
		r.readApprovals(f)
	case "flows":
		r.readFlows(f)
	case "projects":
		r.checkProjects(f)
	case "log":
		r.readLog(f)
	case "locale":
		r.readLocale(f)
	case "errors":
		r.readErrors(f)
	case "$schema", "defaults", "profile":
	default:
		if !isPolicy(f.name) {
			r.report(f.key, f.path, unknownRoot(f.name))
		}
	}
}

func unknownRoot(name string) string {
	switch name {
	case "mcp_servers", "context_servers", "mcp", "extensions":
		return `not read here; put the servers into "mcpServers"`
	case "language", "lang":
		return instead("locale")
	case "default", "serverDefaults":
		return instead("defaults")
	case "deny", "ask", "allow", "mode", "grants":
		return `not read here; put it into "permissions"`
	case "inputs":
		return "ignored: ${input:…} is not supported; use ${NAME} and set the variable"
	}
	return unknown(name, rootFields)
}

func (r *reader) readLog(f field) {
	members, _ := r.members(f, `{"durability": "process"}`)
	for _, f := range members {
		switch f.name {
		case "durability":
			s, ok := r.text(f)
			if ok && s != DurabilityProcess && s != DurabilityFull {
				r.bad(f, `expected "process" or "full"`)
			} else if ok {
				r.cfg.Log.Durability = s
				r.cfg.file.said[f.path] = true
			}
		case "dir":
			e := &expander{reader: r}
			if s, ok := e.text(f); ok {
				r.cfg.Log.Dir = r.home(s)
				r.cfg.file.said[f.path] = true
			}
		default:
			r.report(f.key, f.path, unknown(f.name, []string{"durability", "dir"}))
		}
	}
}

package config

import "slices"

// policyNames are the fields that say which servers may be used at all. What is in them is read with those of the other
// sources. Read only.
var policyNames = []string{"allowedServers", "allowedMcpServers", "deniedServers", "deniedMcpServers",
	"allowManagedServersOnly", "allowManagedMcpServersOnly", "trustedServers"}

func isPolicy(name string) bool { return slices.Contains(policyNames, name) }

// The fields that a source may have which is not the user's own word. Read only.
var (
	projectRoot  = []string{"mcpServers", "servers", "permissions", "flows", "$schema"}
	localRoot    = []string{"mcpServers", "servers", "permissions"}
	importedRoot = []string{"mcpServers", "servers", "permissions", "$schema"}

	projectPermissions  = []string{"deny", "ask"}
	importedPermissions = []string{"deny", "ask", "allow"}
)

// permitted leaves out the fields of the root that the source can't have. G2
func (r *reader) permitted(fields []field) []field {
	switch r.from.Source {
	case SourceProject:
		return r.only(fields, projectRoot, "a project's file can't say this; put it into your own configuration")
	case SourceLocal:
		return r.only(fields, localRoot, "this is for all folders; put it at the top of the file")
	case SourceImported:
		return r.only(fields, importedRoot, "a file of imported servers can't say this; put it into your own configuration")
	case SourceCommandLine:
		return r.except(fields, append([]string{"projects"}, policyNames...), "a file of the command line can't say this; put it into your own configuration")
	case SourceManaged:
		return r.except(fields, []string{"projects"}, `an administrator's file is for all folders; say it at the top of the file`)
	}
	return fields
}

// permittedPermissions does the same for the fields of permissions.
func (r *reader) permittedPermissions(fields []field) []field {
	switch r.from.Source {
	case SourceProject:
		fields = r.only(fields, projectPermissions, "a project's file can only deny and ask; put this into your own configuration")
	case SourceImported:
		fields = r.only(fields, importedPermissions, "a file of imported servers can't say this; put it into your own configuration")
	}
	if r.from.Source == SourceManaged {
		return fields
	}
	return r.except(fields, []string{"modes"}, "only an administrator's file can say this")
}

// only reports what isn't among names, unless it is a field that nobody knows: that is reported elsewhere.
func (r *reader) only(fields []field, names []string, why string) []field {
	return slices.DeleteFunc(slices.Clone(fields), func(f field) bool {
		known := slices.Contains(rootFields, f.name) || isPolicy(f.name) || slices.Contains(permissionFields, f.name)
		if slices.Contains(names, f.name) || !known {
			return false
		}
		r.refuse(f, why)
		return true
	})
}

func (r *reader) except(fields []field, names []string, why string) []field {
	return slices.DeleteFunc(slices.Clone(fields), func(f field) bool {
		if !slices.Contains(names, f.name) {
			return false
		}
		r.refuse(f, why)
		return true
	})
}

// refuse reports what counts for nothing because of the source that says it. Nothing is lost that would forbid.
func (r *reader) refuse(f field, why string) {
	r.report(f.key, f.path, "ignored: "+why)
	r.harmless++
}

package connect

// launch is how a client is to start usher.
type launch struct {
	name    string // of the entry
	command string
	args    []string
	vars    []string // variables that usher's configuration names, sorted
}

func (l launch) argv() []string { return append([]string{l.command}, l.args...) }

// field is a member of an entry. Its value is a string, a bool, an int, a []string or a map[string]string.
type field struct {
	name  string
	value any
}

func plain(l launch) []field { return []field{{"command", l.command}, {"args", l.args}} }

func typed(kind string) func(launch) []field {
	return func(l launch) []field { return append([]field{{"type", kind}}, plain(l)...) }
}

func copilot(l launch) []field {
	return append(typed("local")(l), field{"tools", []string{"*"}})
}

func opencode(l launch) []field {
	return []field{{"type", "local"}, {"command", l.argv()}, {"enabled", true}}
}

// codex clears the environment of what it starts but for what is named.
func codex(l launch) []field {
	if len(l.vars) == 0 {
		return plain(l)
	}
	return append(plain(l), field{"env_vars", l.vars})
}

// gemini takes variables with the name of a secret out of the environment, but for what is named.
func gemini(l launch) []field {
	if len(l.vars) == 0 {
		return plain(l)
	}
	env := map[string]string{}
	for _, name := range l.vars {
		env[name] = "$" + name
	}
	return append(plain(l), field{"env", env})
}

func goose(l launch) []field {
	return []field{
		{"enabled", true}, {"type", "stdio"}, {"name", l.name}, {"description", "through usher"},
		{"cmd", l.command}, {"args", l.args}, {"timeout", 300}, // its default, in seconds
	}
}

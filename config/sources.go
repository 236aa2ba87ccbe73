package config

import "path/filepath"

// Sources says where the parts of a configuration are. The strongest comes first: managed, command line, local, project,
// user, imported. The zero value has none.
type Sources struct {
	User     string // the user's file; what it says under projects is local; "": none
	Instead  *Text  // what counts in the place of User, which isn't read; nil: the file is read
	Managed  string // the administrator's file, such as ManagedPath(); "": none
	Imported string // what usher import wrote, such as ImportedPath(User); "": none
	// Dir is the working folder, where the project and what is local are looked for; "": neither.
	Dir string
	// CommandLine is what --mcp-config was given: a file, or JSON, which begins with {.
	CommandLine []string
	// Strict leaves out the servers of all sources but the command line and the administrator. What the others deny or
	// ask for stays.
	Strict bool
	// Reload says that the user's file was there before: one that is gone or empty for a moment, as editors leave it, is an
	// error, lest the rules go with it.
	Reload bool
	// Env looks up variables; nil knows none. It has to be the environment that the process was started with: the
	// administrator's lists are read with it, too.
	Env func(name string) (string, bool)
	// Keyring looks up secrets; nil knows none.
	Keyring func(name string) (string, error)
	// Trusted reports whether the user has trusted this entry of this project. folder is canonical. nil trusts none.
	// It is called while the files are read, and again by Check, maybe by several goroutines at once.
	Trusted func(folder, name, hash string) bool
}

// Text is the content of a file.
type Text struct {
	Name string // what messages and rules call it
	Data []byte
}

// ImportedPath is where usher import writes for a user's file: imported.json beside it.
func ImportedPath(user string) string {
	if user == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(user), "imported.json")
}

// Merged is what several sources make together, besides what one file can say. It is empty in what Load and Parse return.
type Merged struct {
	// Blocked is what would count, and is kept from running by the administrator's policy or by Strict.
	Blocked []Blocked
	// Shadowed is what a stronger source has another entry for.
	Shadowed []Shadowed
	// Files is where was looked, absolute, also where nothing was. A change of one of them may change the configuration.
	Files []string
	// Folder is the canonical folder of the project; "": there is none.
	Folder string
	// Unclear is why everything asks: a part that can't be read may have said deny or ask.
	Unclear []Problem
	gate    *gate // a pointer, since what is behind it must not print
}

// Blocked is an entry that the administrator's policy, or Strict, keeps from running.
type Blocked struct {
	Server Server
	Reason string // a sentence for people, which says where the policy is
}

// Shadowed is an entry that doesn't count, because a stronger one has its name.
type Shadowed struct{ Server, By Server }

// LoadAll reads all sources and merges them: of the entries that have one name, the strongest counts, whole. An entry of
// a project that isn't trusted takes no part; it is in Pending. Nothing is started.
//
// An error means that nothing counts. It is a *ManagedError where the administrator's file is there and can't be read or
// is broken. The user's file is as for Load. A file of the command line that isn't there, and JSON on it that is broken,
// are errors, too; any other file that is broken is a Problem, and then everything asks, for it may have said so.
func LoadAll(s Sources) (*Config, error) {
	l, err := newLoader(s)
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{l.managed, l.user, l.commandLine, l.project, l.imported} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return l.merge(), nil
}

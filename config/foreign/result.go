package foreign

import (
	"fmt"
	"time"

	"github.com/usher-mcp/usher/internal/secret"
)

// Where is a place in a file.
type Where struct {
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"` // from 1; 0 is unknown
	Field string `json:"field,omitempty"`
}

func (w Where) String() string {
	if w.Line == 0 {
		return w.File
	}
	return fmt.Sprintf("%s:%d", w.File, w.Line)
}

// Pair is a named value of env or headers.
type Pair struct{ Name, Value string }

// Entry is one server as its product has it. Its texts are in usher's dialect and hold no literal secret.
type Entry struct {
	Product      string // its Name
	Name         string
	Where        Where  // of its name
	Project      string // the folder that it is for; "" is all
	Shared       bool   // it stands in a project's folder, where others may have written it
	Named        bool   // a person named its file
	Type         string // stdio, http, sse or ws; "" is left open
	Command      string
	Args         []string
	Env          []Pair
	Cwd          string
	URL          string
	Headers      []Pair
	StartTimeout time.Duration // 0: not said
	CallTimeout  time.Duration // 0: not said
	Disabled     bool
	Secrets      []Secret

	// identity is what is connected to: a hash over the values with their secrets.
	identity string
}

// Secret is a value that an entry refers to as ${keyring:NAME}.
type Secret struct {
	Name  string // in the keyring
	Where Where
	// Value is the literal that stands there; "" where the product keeps it elsewhere, which Hint tells.
	Value secret.Value
	Hint  string
}

// Rule is one rule on the tools of a server.
type Rule struct {
	Product string
	Where   Where
	Shared  bool
	Named   bool
	List    string // deny, ask or allow
	Server  string // the entry's name; * is all
	Tool    string // the tool's, with *
	Args    string // of the pattern, with its parentheses, or ""
	When    string // a condition in CEL, or ""
}

// Pattern is the rule as permissions has it, for a server of that name.
func (r Rule) Pattern(server string) string { return "mcp." + server + "." + r.Tool + r.Args }

// Note is what wasn't taken over, or not as it was, and why. It holds no value of the file.
type Note struct {
	Product string `json:"product"`
	Where
	Message string `json:"message"`
	Lost    bool   `json:"lost,omitempty"` // the whole entry or rule
}

// Reading is what one file says.
type Reading struct {
	Place   Place
	Entries []Entry
	Rules   []Rule
	Notes   []Note
	Err     error // nothing of it could be read
}

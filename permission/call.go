package permission

import (
	"encoding/json"

	"github.com/usher-mcp/usher/mcp"
)

// Call is what is decided about. The zero value of a field says that the caller doesn't know it.
type Call struct {
	Target
	Model      string // its name toward models, which deny and ask rules may use, too
	Source     string // the source of the configuration that its server is from: "managed", "user", …; empty for a local tool
	Entry      string // the hash of its server's entry there
	Definition string // the hash of the tool's definition
	Package    string // the package that runs, with its version: `npm:name@1.2.3`; empty where it isn't known

	Args        json.RawMessage // the arguments as they will be sent; read only if a rule needs them
	Annotations mcp.Annotations // as the server has them, trusted or not
	Risk        Risk
	Builtin     bool // on the list of built-in tools whose reads are nobody's business to be asked about
	Granted     bool // a person allowed the tool for this session, as it is defined now

	Mode      Mode
	Session   string   // id
	Kind      string   // what kind of session it is: gateway, terminal, …
	Client    string   // the name that the session's client gave itself
	Principal string   // on whose behalf
	Labels    []string // what the session took in before: "untrusted", "private"

	arguments // read at most once
}

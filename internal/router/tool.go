package router

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"

	"github.com/usher-mcp/usher/internal/schema"
	"github.com/usher-mcp/usher/internal/schema/repair"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

// MaxDescription is where descriptions are cut, in characters (E4).
const MaxDescription = 2048

// MaxName is the longest name toward models. It leaves room for the prefix that clients of the gateway put before it
// within the 64 characters that model APIs take.
const MaxName = 48

// Tool is one tool in the table. It is immutable.
type Tool struct {
	permission.Target
	Def     mcp.Tool
	Name    string          // canonical
	Model   string          // toward model APIs
	Hash    string          // digest of the definition as the server gave it
	Risk    permission.Risk // as assessed, before the user's labels
	Builtin bool            // runs without a question

	listing func() json.RawMessage
	plain   func() json.RawMessage
	checker *schema.Checker
	output  *schema.Checker
	model   func() *repair.Repaired
}

// newTool leaves Model to the table, which knows the other names.
func newTool(server string, def mcp.Tool, trusted, builtin bool) *Tool {
	target := permission.Target{Server: server, Tool: def.Name}
	t := &Tool{
		Target: target, Def: def, Name: target.Canonical(), Builtin: builtin,
		Hash: mcp.Digest(def.Raw), Risk: permission.Assess(def.Annotations, trusted),
	}
	t.checker, t.output = schema.Lazy(def.InputSchema), schema.Lazy(def.OutputSchema)
	t.plain = sync.OnceValue(func() json.RawMessage { return listing(t, t.Tool) })
	t.model = sync.OnceValue(func() *repair.Repaired { return repair.Repair(def.InputSchema) })
	return t
}

// Check compares arguments with the tool's schema. A schema that can't be compiled finds nothing wrong.
func (t *Tool) Check(args json.RawMessage) error { return t.checker.Check(args) }

// CheckResult compares a result with what the tool says of its results. What it returns is a finding, not a failure.
func (t *Tool) CheckResult(result json.RawMessage) error { return t.output.CheckResult(result) }

// ForModel is the tool's schema as model APIs take it, and the way back for arguments that were made after it.
func (t *Tool) ForModel() *repair.Repaired { return t.model() }

// Listing is the definition as a client of the gateway gets it: under the name for models, with its description cut,
// all other bytes as the server sent them.
func (t *Tool) Listing() json.RawMessage { return t.listing() }

// PlainListing is Listing under the server's own name for the tool, for a client that sees this server alone.
func (t *Tool) PlainListing() json.RawMessage { return t.plain() }

func onceListing(t *Tool) func() json.RawMessage {
	return sync.OnceValue(func() json.RawMessage { return listing(t, t.Model) })
}

func listing(t *Tool, name string) json.RawMessage {
	raw := mcp.SetMember(t.Def.Raw, "name", mcp.Quote(name))
	if cut := mcp.Cut(t.Def.Description, MaxDescription); cut != t.Def.Description {
		raw = mcp.SetMember(raw, "description", mcp.Quote(cut))
	}
	return raw
}

// modelName joins and sanitises; fits says whether the result is short enough.
func modelName(t permission.Target) (name string, fits bool) {
	joined := "mcp__" + t.Server + "__" + t.Tool
	if t.Server == "" {
		joined = "local__" + t.Tool
	}
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, joined)
	return name, len(name) <= MaxName
}

// withHash gives the name a suffix that only this pair has.
func withHash(name string, t permission.Target, bytes int) string {
	sum := sha256.Sum256([]byte(t.Server + "\x00" + t.Tool))
	suffix := "_" + hex.EncodeToString(sum[:min(bytes, len(sum)/2)])
	return name[:min(len(name), MaxName-len(suffix))] + suffix
}

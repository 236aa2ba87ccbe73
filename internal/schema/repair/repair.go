package repair

import (
	"encoding/json"

	"github.com/usher-mcp/usher/mcp"
)

const (
	// MaxBytes bounds a schema before and after: 512 KiB. No model reads a larger one; what is larger becomes an object
	// of any properties.
	MaxBytes = 512 << 10
	// maxNodes bounds the schemas that references are written out to.
	maxNodes = 2000
	// maxDepth bounds how deep in the whole a reference is still written out.
	maxDepth = 16
)

// Repaired is what Repair made. It is immutable and safe for concurrent use.
type Repaired struct {
	// Schema is what the model gets; the original bytes if there are no Changes.
	Schema json.RawMessage
	// Changes says in one printable line each what was changed, for the operator's eyes: at most some 30.
	Changes []string

	// Refused reports whether an API would refuse the original, so that the change is more than tidying: leaving out
	// `$schema` and definitions, writing out references that aren't recursive, oneOf below the root.
	Refused bool

	original map[string]string // by the new names
	root     *node             // nil if no name is new
}

var anything = json.RawMessage(`{"type":"object","properties":{}}`)

func whatever(why string) *Repaired {
	return &Repaired{Schema: anything, Changes: []string{why}, Refused: true}
}

// Repair makes of an inputSchema one that the model APIs take. It never fails: of a schema that can't be read, or none,
// it makes an object of any properties.
func Repair(inputSchema json.RawMessage) *Repaired {
	switch {
	case len(inputSchema) > MaxBytes:
		return whatever("the schema is too large for a model: any arguments are taken")
	case mcp.Validate(inputSchema) != nil:
		return whatever("the schema can't be read: any arguments are taken")
	}
	s := newSource(inputSchema)
	for _, b := range bounds {
		w := &walker{source: s, limit: b, names: newNames(s)}
		out := w.repair()
		if w.over {
			continue
		}
		if len(w.changes.list) == 0 {
			return &Repaired{Schema: inputSchema}
		}
		if raw := out.encode(); len(raw) <= MaxBytes && mcp.Validate(raw) == nil {
			r := &Repaired{Schema: raw, Changes: w.changes.lines(), Refused: w.refused}
			if len(w.names.original) > 0 {
				r.original, r.root = w.names.original, out
			}
			return r
		}
		if w.nodes == 0 {
			break // no reference: the next bound changes nothing
		}
	}
	return whatever("the schema grows too large for a model: any arguments are taken")
}

// bound is how far references are written out.
type bound struct {
	again int // how often a definition inside itself
	refs  int // how many inside each other
}

// bounds are tried in turn until the whole is small enough.
var bounds = [...]bound{{1, 100}, {0, 100}, {0, 8}, {0, 3}, {0, 1}, {0, 0}}

package repair

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/schema"
	"github.com/usher-mcp/usher/mcp"
)

// Neither a schema nor arguments that others wrote may panic or hang; the result is what the APIs take, and stays so.
func FuzzRepair(f *testing.F) {
	files, _ := filepath.Glob("testdata/tools/*.json")
	for _, file := range files {
		if in, err := os.ReadFile(file); err == nil {
			f.Add(in, []byte(`{"action":"x","ids__":[1],"filter":{"and":[{}]}}`))
		}
	}
	f.Add([]byte(oddNames), []byte(`{"ids__":[{"a_b":1}]}`))
	f.Fuzz(func(t *testing.T, in, args []byte) {
		if len(in) > 20_000 || len(args) > 20_000 {
			return
		}
		start := time.Now()
		r := Repair(in)
		if again := Repair(r.Schema); string(again.Schema) != string(r.Schema) || len(again.Changes) > 0 {
			t.Fatalf("%s becomes %s and then %s: %q", in, r.Schema, again.Schema, again.Changes)
		}
		if err := accept(r.Schema); err != nil && !schemaLimit(r.Schema) {
			t.Fatalf("%s becomes %s: %v", in, r.Schema, err)
		}
		if mcp.Validate(args) != nil {
			return
		}
		if out, err := r.Arguments(args); err == nil && mcp.Validate(out) != nil {
			t.Fatalf("%s: %s becomes %s", r.Schema, args, out)
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Fatalf("took %v", d)
		}
	})
}

// schemaLimit reports whether package schema can't judge it for its own bounds: the schema is read but not compiled.
func schemaLimit(raw json.RawMessage) bool {
	_, err := schema.Compile(raw)
	return err != nil && acceptSchema(decoded(raw), "") == nil
}

func decoded(raw []byte) (v any) {
	_ = json.Unmarshal(raw, &v)
	return v
}

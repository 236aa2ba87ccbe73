package condition

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/usher-mcp/usher/permission"
)

var hints = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

func variables() []cel.EnvOption {
	all := []cel.EnvOption{
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("risk", cel.IntType),
		cel.Variable("annotations", cel.MapType(cel.StringType, cel.DynType)), // for has(); the others are declared one by one
		cel.Variable("annotations.title", cel.StringType),
		cel.Variable("session.labels", cel.ListType(cel.StringType)),
	}
	for _, hint := range hints {
		all = append(all, cel.Variable("annotations."+hint, cel.BoolType))
	}
	for _, name := range []string{"server", "tool", "source", "client", "principal", "session.id", "session.kind", "session.mode"} {
		all = append(all, cel.Variable(name, cel.StringType))
	}
	return all
}

// activation gives a condition the values of one call.
type activation struct {
	call *permission.Call
}

var _ cel.Activation = (*activation)(nil)

// Parent returns nil.
func (*activation) Parent() cel.Activation { return nil }

// ResolveName finds the value of a variable.
func (a *activation) ResolveName(name string) (any, bool) {
	c := a.call
	switch name {
	case "server":
		return c.Server, true
	case "tool":
		return c.Tool, true
	case "source":
		return c.Source, true
	case "client":
		return c.Client, true
	case "principal":
		return c.Principal, true
	case "risk":
		return int64(c.Risk), true
	case "args":
		args, err := c.Arguments()
		if err != nil {
			return types.WrapErr(err), true
		}
		return args, true
	}
	if hint, ok := strings.CutPrefix(name, "annotations"); ok {
		return annotation(c, strings.TrimPrefix(hint, "."))
	}
	return session(c, name)
}

func session(c *permission.Call, name string) (any, bool) {
	switch name {
	case "session.id":
		return c.Session, true
	case "session.kind":
		return c.Kind, true
	case "session.mode":
		return c.Mode.String(), true
	case "session.labels":
		return c.Labels, true
	}
	return nil, false
}

// annotation gives a hint that the server doesn't say as MCP's schema.ts has it (ToolAnnotations).
func annotation(c *permission.Call, name string) (any, bool) {
	a := c.Annotations
	readOnly := a.ReadOnly != nil && *a.ReadOnly
	switch name {
	case "title":
		return a.Title, true
	case "readOnlyHint":
		return readOnly, true
	case "destructiveHint":
		return or(a.Destructive, !readOnly), true
	case "idempotentHint":
		return or(a.Idempotent, false), true
	case "openWorldHint":
		return or(a.OpenWorld, true), true
	case "":
		return said(c), true
	}
	return nil, false
}

func or(b *bool, otherwise bool) bool {
	if b == nil {
		return otherwise
	}
	return *b
}

func said(c *permission.Call) map[string]any {
	a, all := c.Annotations, map[string]any{}
	if a.Title != "" {
		all["title"] = a.Title
	}
	for i, b := range []*bool{a.ReadOnly, a.Destructive, a.Idempotent, a.OpenWorld} {
		if b != nil {
			all[hints[i]] = *b
		}
	}
	return all
}

// adapter turns JSON into CEL's values as they are needed.
type adapter struct{}

var _ types.Adapter = adapter{}

// NativeToValue is types.DefaultTypeAdapter's, but for numbers.
func (a adapter) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case json.Number:
		return number(v.String())
	case map[string]any:
		return types.NewStringInterfaceMap(a, v)
	case []any:
		return types.NewDynamicList(a, v)
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// number never makes two different whole numbers one: it is an int or a uint where it fits, a double where that is
// exactly it, else an error. A fraction becomes the nearest double.
func number(s string) ref.Val {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return types.Int(i)
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return types.Uint(u)
	}
	const longest = 400
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || len(s) > longest {
		return types.NewErr("the number %.40s is out of range", s)
	}
	if f > -1<<53 && f < 1<<53 {
		return types.Double(f)
	}
	exact, ok := new(big.Rat).SetString(s)
	switch {
	case !ok:
		return types.NewErr("the number %.40s is out of range", s)
	case !exact.IsInt():
		return types.Double(f)
	case exact.Num().IsInt64():
		return types.Int(exact.Num().Int64())
	case exact.Num().IsUint64():
		return types.Uint(exact.Num().Uint64())
	}
	if back := new(big.Rat).SetFloat64(f); back == nil || back.Cmp(exact) != 0 {
		return types.NewErr("the number %.40s is too large to be compared", s)
	}
	return types.Double(f)
}

package condition

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/usher-mcp/usher/permission"
)

// F1, F3 with conditions as people write them: a deny rule more never lets more run, an allow rule more never less, and
// what can't be evaluated never lets anything run.
func TestRulesWithConditions(t *testing.T) {
	c := compiler(t)
	var whens []permission.Condition
	for _, source := range []string{
		`args.path.startsWith("/etc/")`, `has(args.n) && args.n > 3`, `risk >= network`, `session.mode != "plan"`, `annotations.readOnlyHint`,
		`"private" in session.labels`, `args.list.all(x, x == 1)`, `true`, `false`, `1 / args.n > 0`,
	} {
		condition, err := c.Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		whens = append(whens, condition)
	}
	rule := rapid.Custom(func(t *rapid.T) permission.Rule {
		return permission.Rule{Pattern: rapid.SampledFrom([]string{"*", "mcp.fs.*", "mcp.fs.write(path:/etc/**)"}).Draw(t, "pattern"),
			When: rapid.SampledFrom(whens).Draw(t, "when"), Scope: "user"}
	})
	list := rapid.SliceOfN(rule, 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		deny, ask, allow, more := list.Draw(t, "deny"), list.Draw(t, "ask"), list.Draw(t, "allow"), rule.Draw(t, "more")
		call := permission.Call{
			Target: permission.Target{Server: "fs", Tool: "write"}, Source: "user", Risk: permission.Risk(rapid.IntRange(0, 5).Draw(t, "risk")),
			Mode: permission.Mode(rapid.IntRange(0, 4).Draw(t, "mode")), Labels: rapid.SampledFrom([][]string{nil, {"private"}}).Draw(t, "labels"),
			Args: json.RawMessage(rapid.SampledFrom([]string{`{}`, `{"path":"/etc/x","n":0}`, `{"path":5,"n":7,"list":[1,2]}`, `{"n":"x","list":[]}`, `{`, `{"n":1e400}`}).Draw(t, "args")),
		}
		decide := func(deny, ask, allow []permission.Rule) permission.Effect {
			return (&permission.Policy{Deny: deny, Ask: ask, Allow: allow}).Decide(call).Effect
		}
		was := decide(deny, ask, allow)
		if now := decide(append(slices.Clone(deny), more), ask, allow); now > was {
			t.Fatalf("a deny rule more: %v became %v", was, now)
		}
		if now := decide(deny, ask, append(slices.Clone(allow), more)); now < was {
			t.Fatalf("an allow rule more: %v became %v", was, now)
		}
		if _, err := more.When.Holds(&call); err != nil {
			if decide([]permission.Rule{{Pattern: "*", When: more.When}}, nil, nil) != permission.Deny {
				t.Fatal("a deny rule that can't be evaluated doesn't deny")
			}
			if decide(nil, ask, []permission.Rule{{Pattern: "*", When: more.When, Scope: "user"}}) > decide(nil, ask, nil) {
				t.Fatal("an allow rule that can't be evaluated allows")
			}
		}
	})
}

package condition

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

func compiler(t testing.TB) *Compiler {
	t.Helper()
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func is(b bool) *bool { return &b }

func exampleCall() *permission.Call {
	return &permission.Call{
		Target: permission.Target{Server: "fs", Tool: "write_file"}, Source: "user", Risk: permission.Network, Mode: permission.Plan,
		Annotations: mcp.Annotations{ReadOnly: is(false)}, Session: "s_1", Kind: "gateway", Client: "zed", Principal: "ann", Labels: []string{"untrusted"},
		Args: json.RawMessage(`{"path":"/etc/passwd","n":9007199254740993,"big":1e300,"odd":123456789012345678901234567890,"u":18446744073709551615,"f":0.5,"k":1e3,` +
			`"list":[{"a":1},{"a":2}],"yes":true,"none":null,"deep":{"er":{"x":"y"}},"nines":9007199254740993.0}`),
	}
}

// F3: what a condition can name, and how it compares.
func TestHolds(t *testing.T) {
	c := compiler(t)
	for source, want := range map[string]bool{
		`server == "fs" && tool == "write_file" && source == "user"`: true,
		`risk >= network`:                                      true,
		`risk > network`:                                       false,
		`risk == "network"`:                                    true,
		`"network" == risk`:                                    true,
		`risk >= "write"`:                                      true,
		`"execute" > risk`:                                     true,
		`risk in [write, network]`:                             true,
		`risk in ["write", "execute"]`:                         false,
		`!(risk in ["write", "execute"])`:                      true,
		`args.path.startsWith("/etc/")`:                        true,
		`args["path"].matches("^/(etc|usr)/")`:                 true,
		`args.n == 9007199254740993`:                           true,
		`args.n == 9007199254740992`:                           false,
		`args.nines == 9007199254740992`:                       false,
		`args.nines == 9007199254740993`:                       true,
		`args.u == 18446744073709551615u`:                      true,
		`args.k == 1000`:                                       true,
		`args.f < 1`:                                           true,
		`args.f == 0.5`:                                        true,
		`args.n > 5 && args.n < 9007199254740994`:              true,
		`args.list.exists(x, x.a == 2)`:                        true,
		`args.list.all(x, x.a == 2)`:                           false,
		`args.list[1].a == 2`:                                  true,
		`args.n in [1, 9007199254740993]`:                      true,
		`args.deep.er.x == "y"`:                                true,
		`args.yes`:                                             true,
		`args.none == null`:                                    true,
		`has(args.nothing)`:                                    false,
		`has(args.nothing) && args.nothing == 1`:               false,
		`size(args) > 3`:                                       true,
		`annotations.readOnlyHint`:                             false,
		`annotations.destructiveHint`:                          true, // as the specification has it
		`annotations.openWorldHint && annotations.title == ""`: true,
		`has(annotations.readOnlyHint) && !has(annotations.openWorldHint)`: true,
		`session.id == "s_1" && session.kind == "gateway"`:                 true,
		`session.mode == "plan" && "untrusted" in session.labels`:          true,
		`"private" in session.labels`:                                      false,
		`client == "zed" && principal == "ann"`:                            true,
		`(risk) == "network"`:                                              true,
	} {
		condition, err := c.Compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := condition.Holds(exampleCall()); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", source, got, err, want)
		}
		if condition.String() != source {
			t.Errorf("%s is told as %s", source, condition)
		}
	}
}

// What can't be evaluated is an error, never a false.
func TestFails(t *testing.T) {
	c := compiler(t)
	for source, want := range map[string]string{
		`args.nothing == "x"`:          "has(args.NAME)",
		`args.path > 5`:                "no such overload",
		`args.path`:                    "neither true nor false",
		`args.odd == 5`:                "too large",
		`args.odd < 5.0`:               "too large",
		`!(args.list[7].a == 2)`:       "out of bounds",
		`args.n + args.n > 0`:          "",
		`args.u + 1u > 0u`:             "overflow",
		`args.none.x == 1 || risk < 0`: "",
	} {
		condition, err := c.Compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		switch got, err := condition.Holds(exampleCall()); {
		case source == `args.n + args.n > 0`:
			if !got || err != nil {
				t.Errorf("%s: %v %v", source, got, err)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, %v, want an error with %q", source, got, err, want)
		}
	}
	broken := &permission.Call{Args: json.RawMessage(`{"a":1,"a":2}`)}
	condition, err := c.Compile(`args.a == 2`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := condition.Holds(broken); err == nil {
		t.Errorf("of arguments with a name twice: %v", got)
	}
}

// What doesn't compile says where.
func TestCompileErrors(t *testing.T) {
	c := compiler(t)
	for source, want := range map[string]string{
		``:                                 "the condition is empty",
		`server == `:                       "at character",
		`servr == "fs"`:                    `at character 1: undeclared reference to 'servr'`,
		`server == "fs" &&` + "\n tol ==1": "at line 2, character 2: undeclared reference to 'tol'",
		`risk >= "netwrok"`:                `at character 9: unknown risk "netwrok"`,
		`risk in ["read", "wirte"]`:        `unknown risk "wirte"`,
		`server == 5`:                      "at character 8",
		`"fs"`:                             "a condition is true or false",
		`session.modus == "plan"`:          "session",
		`annotations.readonly`:             `annotations has no "readonly"`,
		`has(annotations.readonly)`:        `annotations has no "readonly"`,
		`tool.matches(args.pattern)`:       "has to be written out",
		`tool.matches("(")`:                "invalid matches argument",
		`args.a.all(x, args.b.all(y, args.c.all(z, z == x + y)))`:    "",
		strings.Repeat("(", 500) + "true" + strings.Repeat(")", 500): "",
		`server == "` + strings.Repeat("x", MaxSource) + `"`:         "at most 4096 bytes",
	} {
		_, err := c.Compile(source)
		var at *Error
		if !errors.As(err, &at) || at.Line < 1 || at.Column < 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", source, err, want)
		}
	}
}

// A condition can't keep a call: the arguments are the agent's, and the condition may be a project's.
func TestCostIsLimited(t *testing.T) {
	c := compiler(t)
	condition, err := c.Compile(`args.a.all(x, args.a.all(y, x + y >= 0))`)
	if err != nil {
		t.Fatal(err)
	}
	args := `{"a":[` + strings.TrimSuffix(strings.Repeat("1,", 50_000), ",") + `]}`
	if got, err := condition.Holds(&permission.Call{Args: json.RawMessage(args)}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v, %v", got, err)
	}
}

// The arguments are read only if a condition looks at them.
func TestArgumentsAreReadOnlyIfNeeded(t *testing.T) {
	c := compiler(t)
	condition, err := c.Compile(`server == "fs" || args.x == 1`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := condition.Holds(&permission.Call{Target: permission.Target{Server: "fs"}, Args: json.RawMessage(`{`)}); !got || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{`risk >= network`, `args.a.exists(x, x == 1)`, `has(annotations.title)`, `risk in ["read"]`, `1/0 == 1`, `risk == risk`, `risk in risk`} {
		f.Add(s, `{"a":[1,2.5,"x",null,{"b":[]}]}`)
	}
	c := compiler(f)
	f.Fuzz(func(t *testing.T, source, args string) {
		condition, err := c.Compile(source)
		if err != nil {
			var at *Error
			if !errors.As(err, &at) {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		call := &permission.Call{Args: json.RawMessage(args), Risk: permission.Write}
		first, err := condition.Holds(call)
		if first && err != nil {
			t.Fatal("it holds and fails")
		}
		if again, _ := condition.Holds(call); again != first {
			t.Fatal("it holds once, and once not")
		}
	})
}

// 20 conditions in 10 µs, with the arguments read.
func BenchmarkDecide20Conditions(b *testing.B) {
	c := compiler(b)
	p := &permission.Policy{}
	for i := range 20 {
		source := []string{
			fmt.Sprintf(`args.path.startsWith("/secret%d/")`, i),
			fmt.Sprintf(`risk >= execute && client == "c%d"`, i),
			fmt.Sprintf(`has(args.mode) && args.mode == "m%d"`, i),
			fmt.Sprintf(`args.size > %d && "private" in session.labels`, i),
			fmt.Sprintf(`args.path.matches("^/home/u%d/")`, i),
		}[i%5]
		condition, err := c.Compile(source)
		if err != nil {
			b.Fatal(err)
		}
		p.Deny = append(p.Deny, permission.Rule{Pattern: "mcp.fs.*", When: condition, Scope: "user"})
	}
	call := permission.Call{Target: permission.Target{Server: "fs", Tool: "write_file"}, Risk: permission.Read, Labels: []string{"untrusted"},
		Args: json.RawMessage(`{"path":"/work/project/src/main.go","mode":"overwrite","size":1234,"content":"` + strings.Repeat("some words ", 20) + `"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if p.Decide(call).Effect != permission.Allow {
			b.Fatal(p.Decide(call).Why)
		}
	}
}

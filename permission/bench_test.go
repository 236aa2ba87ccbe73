package permission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// twoHundred are rules for many servers, and twenty with arguments for the one that is called.
func twoHundred() *Policy {
	p := &Policy{}
	for i := range 180 {
		r := Rule{Pattern: fmt.Sprintf("mcp.server%d.tool_*", i), Scope: "user"}
		switch i % 4 {
		case 0:
			p.Deny = append(p.Deny, r)
		case 1:
			p.Ask = append(p.Ask, r)
		default:
			p.Allow = append(p.Allow, r)
		}
	}
	for i := range 6 {
		p.Deny = append(p.Deny, Rule{Pattern: fmt.Sprintf("mcp.jira.*(key:SECRET%d-*)", i), Scope: "user"})
		p.Ask = append(p.Ask, Rule{Pattern: fmt.Sprintf("mcp.jira.*(path:/home/u%d/**)", i), Scope: "user"})
	}
	for i := range 8 {
		p.Allow = append(p.Allow, Rule{Pattern: fmt.Sprintf("mcp.jira.*(key:PUB%d-*, path:/work/**)", i), Scope: "user"})
	}
	return p
}

func benchCall() Call {
	return Call{Target: Target{"jira", "get_issue"}, Source: "user", Risk: Network,
		Args: json.RawMessage(`{"key":"PUB7-123","path":"/work/project/x.go","text":"` + strings.Repeat("some words ", 20) + `","limit":10}`)}
}

func BenchmarkDecide200Rules(b *testing.B) {
	for name, call := range map[string]Call{
		"arguments": benchCall(),
		"names":     {Target: Target{"server7", "tool_x"}, Source: "user", Risk: Network, Args: benchCall().Args},
	} {
		b.Run(name, func(b *testing.B) {
			p := twoHundred()
			b.ReportAllocs()
			for b.Loop() {
				if p.Decide(call).Effect != Allow {
					b.Fatal("not allowed")
				}
			}
		})
	}
}

// The first call of a tool after the rules were read.
func BenchmarkDecide200RulesCold(b *testing.B) {
	p, call := twoHundred(), benchCall()
	p.Decide(call)
	b.ReportAllocs()
	for b.Loop() {
		p.memo.Clear()
		p.memoSize.Store(0)
		if p.Decide(call).Effect != Allow {
			b.Fatal("not allowed")
		}
	}
}

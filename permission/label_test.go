package permission

import (
	"testing"

	"github.com/usher-mcp/usher/mcp"
)

// F2, F3: a label holds under each spelling that a rule could have; a word that raises the risk isn't lost by how the
// tool is written, and none but the exact one lowers it.
func TestLabelsInOtherSpellings(t *testing.T) {
	drop, read := Target{"fs", "drop_all"}, Target{"fs", "read"}
	for name, want := range map[string][2]Risk{ // of drop, of read
		"mcp.fs.drop_all":    {Destructive, Network},
		"mcp__fs__drop_all":  {Destructive, Network},
		"mcp.FS.Drop_All":    {Destructive, Network},
		"mcp.fs.drop*":       {Destructive, Network},
		"mcp.fs.*":           {Destructive, Destructive},
		"mcp.fs":             {Destructive, Destructive},
		"mcp__fs__*":         {Destructive, Destructive},
		"*":                  {Destructive, Destructive},
		"mcp.other.drop_all": {Network, Network},
		"local.drop_all":     {Network, Network},
	} {
		p := &Policy{Labels: map[string]Label{name: {Risk: Destructive}}}
		if got := [2]Risk{p.RiskOf(drop, "h", Network), p.RiskOf(read, "h", Network)}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]Risk{"mcp.fs.read": Read, "mcp__fs__read": Network, "mcp.fs.*": Network} {
		p := &Policy{Labels: map[string]Label{name: {Read, "h"}}}
		if got := p.RiskOf(read, "h", Network); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	exact := &Policy{Labels: map[string]Label{"mcp.fs.*": {Risk: Destructive}, "mcp.fs.read": {Read, "h"}}}
	if got := exact.RiskOf(read, "h", Network); got != Read {
		t.Errorf("the exact name counts first: %v", got)
	}
	yes := true
	p := &Policy{Labels: map[string]Label{"mcp__fs__read": {Risk: Network}}}
	if d := p.Decide(Call{Target: read, Risk: Network, Mode: AcceptReads, Annotations: mcp.Annotations{ReadOnly: &yes}}); d.Effect != Ask {
		t.Errorf("labelled, and run because of what it says of itself: %+v", d)
	}
}

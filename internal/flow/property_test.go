package flow_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/usher-mcp/usher/internal/flow"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

func hint(t *rapid.T, name string) *bool {
	switch rapid.IntRange(0, 2).Draw(t, name) {
	case 0:
		return flag(false)
	case 1:
		return flag(true)
	}
	return nil
}

func facts(t *rapid.T) flow.Facts {
	return flow.Facts{
		Target:  permission.Target{Server: rapid.SampledFrom([]string{"a", "b", "a.b", "a-b"}).Draw(t, "server"), Tool: rapid.SampledFrom([]string{"x", "y", "b.x"}).Draw(t, "tool")},
		Builtin: rapid.Bool().Draw(t, "builtin"), Local: rapid.Bool().Draw(t, "local"), Credentials: rapid.Bool().Draw(t, "credentials"),
		Risk: permission.Risk(rapid.IntRange(0, int(permission.Destructive)).Draw(t, "risk")), HintsCount: rapid.Bool().Draw(t, "count"),
		Hints: mcp.Annotations{OpenWorld: hint(t, "open"), ReadOnly: hint(t, "reads"), Destructive: hint(t, "destroys")},
	}
}

func rules(t *rapid.T) []flow.Rule {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) flow.Rule {
		return flow.Rule{
			Pattern: rapid.SampledFrom([]string{"*", "mcp.*", "mcp.a.*", "mcp.a.b.*", "mcp__a__x", "mcp.*.x", "local.*"}).Draw(t, "pattern"),
			Traits: flow.Traits{
				Labels: flow.Labels(rapid.IntRange(0, 3).Draw(t, "labels")), Sink: flow.Sink(rapid.SampledFrom([]int{0, 2}).Draw(t, "sink")),
			},
			AddsOnly: rapid.Bool().Draw(t, "adds"),
		}
	}), 0, 5).Draw(t, "rules")
}

func covers(a, b flow.Traits) bool { return a.Labels.Has(b.Labels) && a.Sink >= b.Sink }

// A hint never takes a label away, nor makes a sink smaller: not what is taken for granted, unless the user trusts the
// server's word, and never what the configuration says.
func TestHintsOnlyAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := facts(t)
		without := f
		without.Hints = mcp.Annotations{}
		with := rules(t)
		given := flow.NewRules(with)
		if f.HintsCount && !slices.ContainsFunc(with, func(r flow.Rule) bool { return r.Pattern == "*" && !r.AddsOnly }) {
			return // then its word may count
		}
		if got, before := given.TraitsOf(f), given.TraitsOf(without); !covers(got, before) {
			t.Fatalf("%+v: %+v, without hints %+v", f, got, before)
		}
	})
}

// Trusted or not, no hint takes away that a server has credentials, or that content is untrusted.
func TestNoHintTakesWhatIsKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := facts(t)
		got := flow.TraitsOf(f)
		if !got.Labels.Has(flow.Untrusted) || (f.Credentials || f.Builtin) && !got.Labels.Has(flow.Private) {
			t.Fatalf("%+v: %v", f, got.Labels)
		}
		if !f.Builtin && !f.Local && got.Sink == flow.NoSink {
			t.Fatalf("%+v is far, and no sink", f)
		}
	})
}

// A rule of a file that isn't the user's own never takes anything away; the order of rules doesn't matter.
func TestRulesThatAddOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, own, others := facts(t), rules(t), rules(t)
		for i := range others {
			others[i].AddsOnly = true
		}
		before := flow.NewRules(own).TraitsOf(f)
		all := append(slices.Clone(own), others...)
		after := flow.NewRules(all).TraitsOf(f)
		if !covers(after, before) {
			t.Fatalf("%+v: with others' rules %+v, without %+v", f, after, before)
		}
		if again := flow.NewRules(rapid.Permutation(all).Draw(t, "order")).TraitsOf(f); again != after {
			t.Fatalf("in another order %+v, not %+v", again, after)
		}
	})
}

// model is what a session should hold and ask, told the simplest way.
type model struct {
	labels   map[string]flow.Labels
	accepted map[string]bool
}

func (m *model) all() (l flow.Labels) {
	for _, one := range m.labels {
		l |= one
	}
	return l
}

// Whatever happens in whatever order: labels only grow; a session asks exactly if it holds both and there is a pair that
// nobody accepted; a clean one never asks; an accepted pair doesn't ask again.
func TestSessionAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := flow.New(t.Context(), flow.Options{}).Session("p", "c")
		m := model{map[string]flow.Labels{}, map[string]bool{}}
		server := rapid.SampledFrom([]string{"mail", "web", "net", "notes"})
		t.Repeat(map[string]func(*rapid.T){
			"took": func(t *rapid.T) {
				from, labels := server.Draw(t, "from"), flow.Labels(rapid.IntRange(0, 3).Draw(t, "labels"))
				before := s.Labels()
				if err := s.Took(flow.Server(from), labels); err != nil {
					t.Fatal(err)
				}
				m.labels[from] |= labels
				if after := s.Labels(); !after.Has(before|labels) || after != m.all() {
					t.Fatalf("%v after %v and %v, want %v", after, before, labels, m.all())
				}
			},
			"wrote": func(t *rapid.T) { // a clean server stays one, for the model's sake: it isn't read from
				if err := s.Wrote(flow.Carrier{Kind: "drawer", Name: "x"}); err != nil {
					t.Fatal(err)
				}
			},
			"check": func(t *rapid.T) {
				tool := permission.Target{Server: server.Draw(t, "sink"), Tool: "send"}
				sink := flow.Sink(rapid.IntRange(0, 2).Draw(t, "reach"))
				var want []string
				for source, labels := range m.labels {
					pair := fmt.Sprint(source, tool)
					if sink != flow.NoSink && m.all() == both && labels.Has(flow.Private) && !m.accepted[pair] && (sink == flow.OpenSink || source != tool.Server) {
						want = append(want, source)
					}
				}
				slices.Sort(want)
				f := s.Check(tool, sink)
				if (f != nil) != (want != nil) || f != nil && !slices.Equal(f.Private, want) {
					t.Fatalf("%v %v: %+v, want %v", tool, sink, f, want)
				}
				if f == nil || !rapid.Bool().Draw(t, "yes") {
					return
				}
				s.Accepted(f)
				for _, source := range f.Private {
					m.accepted[fmt.Sprint(source, tool)] = true
				}
				if again := s.Check(tool, sink); again != nil {
					t.Fatalf("accepted, and asks again: %+v", again)
				}
			},
		})
	})
}

// Another source never makes a session ask less.
func TestAnotherSourceNeverLowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book := flow.New(t.Context(), flow.Options{})
		less, more := book.Session("p", "less"), book.Session("p", "more")
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			from, labels := flow.Server(rapid.SampledFrom([]string{"mail", "web", "net"}).Draw(t, "from")), flow.Labels(rapid.IntRange(0, 3).Draw(t, "labels"))
			_ = more.Took(from, labels)
			if rapid.Bool().Draw(t, "in both") {
				_ = less.Took(from, labels)
			}
			for _, sink := range []flow.Sink{flow.NoSink, flow.ClosedSink, flow.OpenSink} {
				f, g := less.Check(send, sink), more.Check(send, sink)
				if f == nil {
					continue
				}
				if g == nil || slices.ContainsFunc(f.Private, func(s string) bool { return !slices.Contains(g.Private, s) }) {
					t.Fatalf("with less %+v, with more %+v", f, g)
				}
			}
		}
	})
}

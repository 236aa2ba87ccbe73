package cli

import (
	"github.com/usher-mcp/usher/permission"
)

// explanationJSON is an explanation for programs.
type explanationJSON struct {
	Tool     string      `json:"tool"`
	Decision string      `json:"decision"` // allow, ask or deny
	Why      string      `json:"why"`
	Sourced  string      `json:"sourcedFrom"` // as in permission.resolved
	Rule     *ruleJSON   `json:"rule,omitempty"`
	Grant    *grantJSON  `json:"grant,omitempty"`
	Steps    []stepJSON  `json:"steps"`
	Risk     riskJSON    `json:"risk"`
	Mode     string      `json:"mode"`
	Server   *originJSON `json:"server,omitempty"`
	Session  sessionJSON `json:"session"`
	Gives    []string    `json:"gives"`
	Sink     string      `json:"sink"` // none, closed or open
	Flow     string      `json:"flow,omitempty"`
	Reasons  []string    `json:"reasons,omitempty"`
	Hint     string      `json:"hint,omitempty"`
	Invalid  string      `json:"invalid,omitempty"` // why the arguments don't fit
	Cached   bool        `json:"cached"`            // its server doesn't run
	Notes    []string    `json:"notes,omitempty"`
}

type ruleJSON struct {
	List   string `json:"list,omitempty"`
	Rule   string `json:"rule"`
	When   string `json:"when,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Source string `json:"source,omitempty"`
}

func (r *ruleJSON) text() string {
	if r.When != "" {
		return r.Rule + " when " + r.When
	}
	return r.Rule
}

type grantJSON struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

type stepJSON struct {
	List    string     `json:"list"`
	Rule    *ruleJSON  `json:"rule,omitempty"`
	Grant   *grantJSON `json:"grant,omitempty"`
	Names   bool       `json:"names"`
	Matched bool       `json:"matched"`
	Decided bool       `json:"decided"`
	Why     string     `json:"why"`
}

type riskJSON struct {
	Counts     string   `json:"counts"`
	Assessed   string   `json:"assessed"` // by the tool's hints alone
	Label      string   `json:"label,omitempty"`
	LabelIsNow bool     `json:"labelIsForThisDefinition,omitempty"`
	Hints      []string `json:"hints,omitempty"`
	TrustHints bool     `json:"hintsTrusted"`
}

type originJSON struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Source  string `json:"source"`
	Package string `json:"package,omitempty"`
}

type sessionJSON struct {
	ID     string   `json:"id,omitempty"`
	Kind   string   `json:"kind"`
	Client string   `json:"client,omitempty"`
	Ended  bool     `json:"ended,omitempty"`
	Holds  []string `json:"holds"`
}

func (v *explained) forPrograms() explanationJSON {
	d := v.Decision
	j := explanationJSON{
		Tool: v.Tool.Name, Decision: d.Effect.String(), Why: v.because(), Sourced: d.SourcedFrom, Rule: ruleOf(d.Rule), Grant: grantOf(d.Grant),
		Steps: []stepJSON{}, Mode: v.mode.String(), Gives: append([]string{}, v.Gives...), Sink: v.Sink, Flow: v.Flow, Reasons: v.Reasons, Hint: v.Hint,
		Cached: v.cached, Notes: v.notes(),
		Risk:    riskJSON{Counts: v.Call.Risk.String(), Assessed: v.Assessed.String(), Hints: hintsOf(v.Call), TrustHints: v.TrustHints},
		Session: sessionJSON{ID: v.as.ID, Kind: v.as.Kind, Client: v.as.Client, Ended: v.as.ended, Holds: append([]string{}, v.Call.Labels...)},
	}
	if l := v.Label; l != nil {
		j.Risk.Label, j.Risk.LabelIsNow = l.Risk.String(), l.Hash == v.Call.Definition
	}
	if v.Invalid != nil {
		j.Invalid = v.Invalid.Error()
	}
	if v.Tool.Server != "" {
		s := entryOf(v.config, v.Tool.Server)
		j.Server = &originJSON{s.Name, s.File, s.Line, s.Source, v.Call.Package}
	}
	for _, s := range v.allSteps() {
		j.Steps = append(j.Steps, stepJSON{s.List, ruleOf(s.Rule), grantOf(s.Grant), s.Names, s.Matched, s.Decided, s.Why})
	}
	return j
}

func ruleOf(r *permission.Rule) *ruleJSON {
	if r == nil {
		return nil
	}
	return &ruleJSON{Rule: r.Pattern, When: conditionOf(r), File: r.File, Line: r.Line, Source: r.Scope}
}

// conditionOf is the text of a rule's condition, or "".
func conditionOf(r *permission.Rule) string {
	if s, ok := r.When.(interface{ String() string }); ok {
		return s.String()
	}
	return ""
}

func grantOf(g *permission.Grant) *grantJSON {
	if g == nil {
		return nil
	}
	return &grantJSON{g.File, g.Line}
}

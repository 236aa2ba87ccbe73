package config

import "time"

// Permissions is the rules and labels of the file, in its order.
type Permissions struct {
	Deny, Ask, Allow []Rule
	Risk             map[string]RiskLabel // by tool
	Mode             string               // how to treat what no rule decides; "" is the default; else one of Modes
	// Modes are those that may be used; nil: all. It is the administrator's word alone. Where all of what is written there
	// is broken, only ModeDefault is left.
	Modes  []string
	Grants []Grant
	// Incomplete says that something in permissions was left out, which may have
	// been a deny. A caller should allow nothing without asking then.
	Incomplete bool
}

// The values of Permissions.Mode.
const (
	ModeDefault     = "default"
	ModeAcceptReads = "accept-reads"
	ModePlan        = "plan"
	ModeDontAsk     = "dont-ask"
	ModeBypass      = "bypass"
)

// Rule is one element of deny, ask or allow. Its syntax is not checked here, nor is that of its condition.
type Rule struct {
	Pattern string
	When    string // a condition in CEL; "": always
	Entry   string // the Hash of the one server's entry that the rule is for; "": it is for those that its source reaches
	File    string
	Line    int    // from 1
	Source  string // one of the constants
}

// RiskLabel is the user's word on the risk of one tool.
type RiskLabel struct {
	Risk string // read, write, network, execute or destructive
	Hash string // of the definition that was labelled; "" can only raise the risk
	Line int    // from 1
}

// Grant is a person's lasting yes to one tool as it was then.
type Grant struct {
	Tool       string // full name, without wildcards
	Entry      string // the Hash of the server's entry; "" only for a built-in tool
	Definition string // the hash of the tool's definition
	Package    string // what the entry ran, such as npm:x@1.2.3; "": that wasn't known
	File       string
	Line       int    // from 1
	Source     string // one of the constants
}

// What Approvals and Flows say where the file says nothing.
const (
	DefaultWait    = 25 * time.Second
	DefaultKeep    = 15 * time.Minute
	DefaultInherit = time.Hour
)

// Approvals says how long a call waits for an answer, and a question for a person.
type Approvals struct {
	Wait time.Duration // 0: a call doesn't wait at all
	Keep time.Duration // never shorter than Wait; then nobody answered, which is a no
}

// The values of Flows.Mode.
const (
	FlowsOff  = "off"
	FlowsAsk  = "ask" // the default
	FlowsDeny = "deny"
)

// The labels of FlowLabels.
const (
	LabelPrivate   = "private"   // what the tool returns is the user's own
	LabelUntrusted = "untrusted" // what it returns may be written by anybody
	LabelEgress    = "egress"    // what it is given leaves the machine
)

// Flows says what to do about calls that could carry private data out.
type Flows struct {
	Mode    string        // FlowsOff, FlowsAsk or FlowsDeny, never ""
	Labels  []FlowLabels  // in the order of the file
	Inherit time.Duration // how long a client's later sessions take over what an earlier one took in; 0: they don't
}

// FlowLabels is what the file says of the tools that a pattern names. All patterns that match a tool count together.
type FlowLabels struct {
	Pattern string
	Labels  []string // sorted, each once; none: what these tools return is neither private nor untrusted
	Source  string   // one of the constants; those of a project only add to what is there
	File    string
	Line    int // from 1
}

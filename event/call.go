package event

import "encoding/json"

// ToolCallRequested says that a model, or the client of a gateway, wants a tool to run.
type ToolCallRequested struct {
	ToolCallID string          `json:"toolCallId"`
	Tool       string          `json:"tool"`
	Args       json.RawMessage `json:"args,omitempty"`
	Caller     string          `json:"caller,omitempty"`
}

// ToolAmbiguous refuses a bare name that a local tool and a server's tool both bear.
type ToolAmbiguous struct {
	Tool       string   `json:"tool"`
	Candidates []string `json:"candidates"`
}

// ToolUnknown refuses a name that nothing bears.
type ToolUnknown struct {
	Tool    string   `json:"tool"`
	Nearest []string `json:"nearest,omitempty"`
}

// PermissionRequested precedes each decision, asked or not.
type PermissionRequested struct {
	ToolCallID     string          `json:"toolCallId"`
	Tool           string          `json:"tool,omitempty"`
	Args           json.RawMessage `json:"args,omitempty"`
	RiskAtDecision string          `json:"riskAtDecision"`
	SourcedFrom    string          `json:"sourcedFrom"`
}

// PermissionResolved is a decision and what decided.
type PermissionResolved struct {
	ToolCallID  string `json:"toolCallId"`
	Decision    string `json:"decision"`
	Actor       string `json:"actor"`
	SourcedFrom string `json:"sourcedFrom"`
	Rule        string `json:"rule,omitempty"`
	Via         string `json:"via,omitempty"`
	Principal   string `json:"principal,omitempty"`
}

// CallStarted says that a request is about to be handed to a transport. Each attempt of a call has one, and its own
// CallCompleted or CallFailed.
type CallStarted struct {
	Server     string          `json:"server"`
	ToolCallID string          `json:"toolCallId"`
	Method     string          `json:"method"`
	Args       json.RawMessage `json:"args,omitempty"`
}

// CallProgress is a progress notification of a server, at most four a second for each call.
type CallProgress struct {
	Server     string          `json:"server"`
	ToolCallID string          `json:"toolCallId"`
	Progress   json.RawMessage `json:"progress"`
	Total      json.RawMessage `json:"total,omitempty"`
	Message    string          `json:"message,omitempty"`
}

// CallCompleted says that a result came, also one with isError.
type CallCompleted struct {
	Server     string `json:"server"`
	ToolCallID string `json:"toolCallId"`
	DurationMs int64  `json:"durationMs"`
}

// CallFailed says that no result came: a JSON-RPC error, a time-out, a cut connection, a cancelled call.
type CallFailed struct {
	Server     string `json:"server"`
	ToolCallID string `json:"toolCallId"`
	DurationMs int64  `json:"durationMs"`
	Code       int    `json:"code,omitempty"`
	Kind       string `json:"kind"`
	Message    string `json:"message"`
}

// ToolStarted says that a tool runs from here on; for a call above risk read it is durable before a byte is sent.
type ToolStarted struct {
	Tool       string `json:"tool"`
	ToolCallID string `json:"toolCallId"`
}

// ToolCompleted is a tool's result as the agent got it.
type ToolCompleted struct {
	Tool          string `json:"tool"`
	ToolCallID    string `json:"toolCallId"`
	ResultPreview string `json:"resultPreview"`
	ResultSize    int    `json:"resultSize"` // bytes of the raw result
	IsError       bool   `json:"isError,omitempty"`

	// Findings are what was noticed about the result, which the agent got all the same.
	Findings []string `json:"findings,omitempty"`
}

// ToolFailed says that a call ended without a result. Reason is a fault.Kind or ReasonUsherRestarted.
type ToolFailed struct {
	Tool       string `json:"tool"`
	ToolCallID string `json:"toolCallId"`
	Reason     string `json:"reason"`
	Message    string `json:"message"`
}

// ReasonUsherRestarted closes what was open when a process of Usher ended without closing it.
const ReasonUsherRestarted = "usher_restarted"

// Type returns the type that docs/events.md lists.
func (ToolCallRequested) Type() string   { return "model.tool_call_requested" }
func (ToolAmbiguous) Type() string       { return "tool.ambiguous_call" }
func (ToolUnknown) Type() string         { return "tool.unknown" }
func (PermissionRequested) Type() string { return "permission.requested" }
func (PermissionResolved) Type() string  { return "permission.resolved" }
func (CallStarted) Type() string         { return "mcp.call.started" }
func (CallProgress) Type() string        { return "mcp.call.progress" }
func (CallCompleted) Type() string       { return "mcp.call.completed" }
func (CallFailed) Type() string          { return "mcp.call.failed" }
func (ToolStarted) Type() string         { return "tool.started" }
func (ToolCompleted) Type() string       { return "tool.completed" }
func (ToolFailed) Type() string          { return "tool.failed" }

func (ToolCallRequested) data()   {}
func (ToolAmbiguous) data()       {}
func (ToolUnknown) data()         {}
func (PermissionRequested) data() {}
func (PermissionResolved) data()  {}
func (CallStarted) data()         {}
func (CallProgress) data()        {}
func (CallCompleted) data()       {}
func (CallFailed) data()          {}
func (ToolStarted) data()         {}
func (ToolCompleted) data()       {}
func (ToolFailed) data()          {}

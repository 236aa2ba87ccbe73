package mcp

// Era is one of the two incompatible ways of speaking MCP.
type Era uint8

// The eras. Legacy peers shake hands with initialize; modern ones carry everything in each request's `_meta`.
const (
	EraUnknown Era = iota
	Legacy         // 2025-11-25 and older
	Modern         // 2026-07-28 and newer
)

// String returns "legacy", "modern" or "unknown".
func (e Era) String() string {
	switch e {
	case Legacy:
		return "legacy"
	case Modern:
		return "modern"
	}
	return "unknown"
}

// Protocol revisions. They compare as strings.
const (
	Revision20241105 = "2024-11-05"
	Revision20250326 = "2025-03-26"
	Revision20250618 = "2025-06-18"
	Revision20251125 = "2025-11-25"
	Revision20260728 = "2026-07-28"
)

// LegacyRevisions and ModernRevisions list what Usher speaks, newest first.
func LegacyRevisions() []string {
	return []string{Revision20251125, Revision20250618, Revision20250326, Revision20241105}
}

// ModernRevisions lists the revisions of the modern era that Usher speaks, newest first.
func ModernRevisions() []string { return []string{Revision20260728} }

// Methods that Usher names. Any other method passes through as it is.
const (
	MethodInitialize  = "initialize"
	MethodDiscover    = "server/discover"
	MethodPing        = "ping"
	MethodListTools   = "tools/list"
	MethodCallTool    = "tools/call"
	MethodListPrompts = "prompts/list"
	MethodGetPrompt   = "prompts/get"

	MethodListResources         = "resources/list"
	MethodListResourceTemplates = "resources/templates/list"
	MethodReadResource          = "resources/read"

	MethodListen      = "subscriptions/listen"
	MethodSubscribe   = "resources/subscribe"
	MethodUnsubscribe = "resources/unsubscribe"

	NotifyInitialized  = "notifications/initialized"
	NotifyCancelled    = "notifications/cancelled"
	NotifyProgress     = "notifications/progress"
	NotifyMessage      = "notifications/message"
	NotifyTools        = "notifications/tools/list_changed"
	NotifyPrompts      = "notifications/prompts/list_changed"
	NotifyResources    = "notifications/resources/list_changed"
	NotifyUpdated      = "notifications/resources/updated"
	NotifyAcknowledged = "notifications/subscriptions/acknowledged"
)

// What a server may ask its client: as a request of its own up to 2025-11-25, within a result from 2026-07-28.
const (
	MethodSample = "sampling/createMessage"
	MethodElicit = "elicitation/create"
	MethodRoots  = "roots/list"
)

// The tasks extension of 2026-07-28.
const (
	ExtensionTasks   = "io.modelcontextprotocol/tasks"
	MethodGetTask    = "tasks/get"
	MethodUpdateTask = "tasks/update"
	MethodCancelTask = "tasks/cancel"
)

// The values of `resultType` that Usher knows (2026-07-28, "Results"). An absent one counts as complete.
const (
	ResultComplete = "complete"
	ResultInput    = "input_required"
	ResultTask     = "task" // of the tasks extension
)

// Keys of `params._meta` and `result._meta` (2026-07-28, section "_meta").
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClientInfo   = "io.modelcontextprotocol/clientInfo"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaServerInfo   = "io.modelcontextprotocol/serverInfo"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
	MetaProgress     = "progressToken"
)

// HTTP headers of both eras.
const (
	HeaderSession  = "Mcp-Session-Id"
	HeaderRevision = "Mcp-Protocol-Version"
	HeaderMethod   = "Mcp-Method"
	HeaderName     = "Mcp-Name"
	HeaderParam    = "Mcp-Param-" // a prefix
)

// Error codes of JSON-RPC 2.0 and of MCP.
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

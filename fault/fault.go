// Package fault is the one error type of Usher and the one table that says, for each kind of failure, what the agent
// reads (in English and Chinese), which reason the log gets, and which JSON-RPC code, HTTP status and exit code it has.
//
// It decides nothing: whether to retry is upstream's business, what is shown where is the caller's.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is what went wrong. Its text is the `reason` of a tool.failed event.
type Kind string

// The kinds of failure.
const (
	Unavailable      Kind = "mcp_server_unavailable" // can't be reached or started
	Restarted        Kind = "mcp_server_restarted"   // died while it had the call
	Unstable         Kind = "mcp_server_unstable"    // the same, and not for the first time
	BreakerOpen      Kind = "breaker_open"           // failed too often of late; nothing was sent
	Timeout          Kind = "timeout"
	Cancelled        Kind = "cancelled"
	PermissionDenied Kind = "permission_denied"
	ApprovalRequired Kind = "approval_required"
	NotFound         Kind = "not_found"
	ResourceNotFound Kind = "resource_not_found"
	Stale            Kind = "stale" // a resource couldn't be fetched anew; what comes with it is the copy from before
	InvalidParams    Kind = "invalid_params"
	LogUnavailable   Kind = "log_unavailable"
	Auth             Kind = "auth"
	ServerError      Kind = "server_error" // the server answered with a JSON-RPC error
	SessionExpired   Kind = "session_expired"
	Protocol         Kind = "protocol" // the server broke the protocol
	TooLarge         Kind = "too_large"
	Internal         Kind = "internal" // a bug of ours, or of a built-in tool
)

// Error is a failure on the way of a call. The zero value of each field is left out of what is shown.
type Error struct {
	Kind   Kind
	Server string
	Tool   string // canonical name
	Detail string // for the agent: a field and what is wrong with it, or the server's own words
	Hint   string // what to do next, a sentence
	Code   int    // the JSON-RPC code that a server sent
	Status int    // the HTTP status that a server sent in place of an MCP answer
	// Retry is how long it takes until usher tries again by itself; it is shown in whole seconds.
	Retry time.Duration
	Cause error // for the operator; never shown to the agent
}

// Error is what an operator reads: everything, but nothing twice.
func (e *Error) Error() string {
	s := e.Text(English)
	if e.Cause != nil && !strings.Contains(s, e.Cause.Error()) {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns Cause.
func (e *Error) Unwrap() error { return e.Cause }

// Text is what the agent reads, in one language. It never holds Cause. Without a Tool it speaks of the server.
func (e *Error) Text(l Language) string {
	text := e.Kind.text(l)
	if e.Tool == "" {
		text = withoutTool(text)
	}
	return e.fill(text, l)
}

// fill puts the error's own words into a text of a table. What they hold is never taken for a placeholder.
func (e *Error) fill(text string, l Language) string {
	if e.Server == "" {
		text = strings.NewReplacer("Server {server}", "Server", "server {server}", "the server").Replace(text)
	}
	noTool, noServer := "the call", "the server"
	if l == Chinese {
		noTool, noServer = "调用", "Server"
	}
	text = strings.NewReplacer(
		"{tool}", or(e.Tool, noTool), "{server}", or(e.Server, noServer), "{retry}", e.retry(l), "{detail}", e.Detail,
	).Replace(text)
	text = strings.TrimRight(text, ":： ")
	if e.Hint == "" {
		return text
	}
	if !strings.HasSuffix(text, "?") && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text + " " + e.Hint
}

// retry says when usher tries again, as the rest of a sentence.
func (e *Error) retry(l Language) string {
	if e.Retry <= 0 {
		return ""
	}
	seconds := (e.Retry-1)/time.Second + 1
	if l == Chinese {
		return fmt.Sprintf("，将在 %ds 后自动重试", seconds)
	}
	return fmt.Sprintf(", will retry in %d s", seconds)
}

// withoutTool takes the tool out of a text of the table: what it says of the server is enough; where it says nothing of
// it, the text is about the call.
func withoutTool(text string) string {
	for _, colon := range []string{": ", "："} {
		if first, rest, ok := strings.Cut(text, colon); ok && strings.Contains(first, "{tool}") && strings.Contains(rest, "{server}") {
			return rest
		}
	}
	return strings.NewReplacer("no tool {tool}", "no such tool", "工具 {tool} 不存在", "没有这样的工具", "工具 {tool}", "调用", "{tool}", "the call").Replace(text)
}

// KindOf returns the Kind of the first *Error in err's chain, Internal if there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}

// Of returns the *Error in err's chain, or wraps err as Internal.
func Of(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Cause: err}
}

// New makes an Error whose Detail is formatted.
func New(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Detail: fmt.Sprintf(format, args...)}
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

package fault

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Table is the built-in table with what a user adds to it (D5, D6). The zero value, and nil, is the built-in one alone.
// It must not be changed after its first use, and may then be used by many goroutines.
type Table struct {
	Codes    map[int]Kind                 // what a JSON-RPC code of a server means
	Statuses map[int]Kind                 // what an HTTP status of a server means; a code says more
	Texts    map[Kind]map[Language]string // as CheckText wants them
}

// Sort returns e with the kind that its Code or Status has in the table, as a copy where that is another one. Only what a
// server answered is sorted: how a call ended otherwise, and what usher decided itself, is no server's to say.
//
// It changes what is said and logged of a failure. Whether the call may have run is known from elsewhere.
func (t *Table) Sort(e *Error) *Error {
	k := t.kindOf(e)
	if k == e.Kind {
		return e
	}
	sorted := *e
	sorted.Kind = k
	return &sorted
}

func (t *Table) kindOf(e *Error) Kind {
	if !e.Kind.answered() {
		return e.Kind
	}
	if t != nil && e.Code != 0 {
		if k, ok := t.Codes[e.Code]; ok && k.Assignable() {
			return k
		}
	}
	if t != nil && e.Status != 0 {
		if k, ok := t.Statuses[e.Status]; ok && k.Assignable() {
			return k
		}
	}
	if e.Kind == ServerError {
		return builtIn(e)
	}
	return e.Kind
}

// Codes of JSON-RPC and MCP that mean the same from each server.
const (
	codeMethod         = -32601
	codeLegacyResource = -32002
)

func builtIn(e *Error) Kind {
	switch e.Code {
	case codeParams:
		return InvalidParams
	case codeMethod:
		return NotFound
	case codeLegacyResource:
		return ResourceNotFound
	case 0:
		return ofStatus(e.Status)
	}
	return ServerError
}

func ofStatus(status int) Kind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return Auth
	case http.StatusGatewayTimeout:
		return Timeout
	}
	return ServerError
}

// answered kinds may come from what a server answered.
func (k Kind) answered() bool {
	switch k {
	case ServerError, InvalidParams, NotFound, ResourceNotFound, Auth, Protocol, Unavailable:
		return true
	}
	return false
}

// Assignable reports whether a table may give k to a server's answer.
func (k Kind) Assignable() bool { return k.answered() || k == Timeout || k == TooLarge }

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		Unavailable, Restarted, Unstable, BreakerOpen, Timeout, Cancelled, PermissionDenied, ApprovalRequired, NotFound,
		ResourceNotFound, Stale, InvalidParams, LogUnavailable, Auth, ServerError, SessionExpired, Protocol, TooLarge, Internal,
	}
}

// families are the kinds that the names of families stand for, where somebody writes no more than that.
func families() map[string]Kind {
	return map[string]Kind{"NetworkError": Unavailable, "AuthError": Auth, "ToolError": ServerError, "ResourceError": ResourceNotFound}
}

// ParseKind reads a kind as it is logged, such as "auth", or the family NetworkError, AuthError, ToolError or
// ResourceError, which stands for its most common kind.
func ParseKind(s string) (k Kind, ok bool) {
	if k, ok := families()[s]; ok {
		return k, true
	}
	return Kind(s), slices.Contains(Kinds(), Kind(s))
}

// AssignableNames returns what ParseKind takes and a table may give, sorted: kinds before families.
func AssignableNames() []string {
	var kinds []string
	for _, k := range Kinds() {
		if k.Assignable() {
			kinds = append(kinds, string(k))
		}
	}
	slices.Sort(kinds)
	return append(kinds, slices.Sorted(maps.Keys(families()))...)
}

// Text is e.Text in the words of the table.
func (t *Table) Text(e *Error, l Language) string {
	if l != Chinese {
		l = English
	}
	if t != nil {
		if text, ok := t.Texts[e.Kind][l]; ok && CheckText(text) == "" {
			return e.fill(text, l)
		}
	}
	return e.Text(l)
}

const maxText = 1024

// CheckText says what is wrong with a text for a Table and what to write, or "". A text says which tool or server it is
// about by {tool} or {server}; {detail} is what else is known, and {retry} is the rest of a sentence such as ", will
// retry in 30 s", or nothing.
func CheckText(text string) string {
	switch {
	case len(text) > maxText:
		return "a text is at most 1024 bytes; shorten it"
	case !clean(text):
		return "a text has no control characters; remove them"
	}
	said := false
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "{")
		if !found {
			break
		}
		name, behind, closed := strings.Cut(after, "}")
		if !closed || !slices.Contains([]string{"tool", "server", "detail", "retry"}, name) {
			return "what may stand between { and } is tool, server, detail and retry; correct it"
		}
		said = said || name == "tool" || name == "server"
		rest = behind
	}
	if !said {
		return "the text doesn't say what failed; write {tool} or {server} into it"
	}
	return ""
}

// clean texts can be shown anywhere.
func clean(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

package ws

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/coder/websocket"
)

// ending is why a WebSocket closes that shouldn't have.
type ending struct {
	code     websocket.StatusCode
	received bool   // from the peer; else it is for it
	text     string // at most 123 bytes if it is for the peer
}

// Error says it.
func (e *ending) Error() string { return e.text }

// name is what a close code stands for (RFC 6455, section 7.4.1, and the registry that it founded).
func name(code websocket.StatusCode) string {
	switch code {
	case websocket.StatusProtocolError:
		return "protocol error"
	case websocket.StatusUnsupportedData:
		return "unsupported data"
	case websocket.StatusInvalidFramePayloadData:
		return "invalid payload"
	case websocket.StatusPolicyViolation:
		return "policy violation"
	case websocket.StatusMessageTooBig:
		return "message too big"
	case websocket.StatusMandatoryExtension:
		return "extension missing"
	case websocket.StatusInternalError:
		return "internal error"
	case websocket.StatusServiceRestart:
		return "service restart"
	case websocket.StatusTryAgainLater:
		return "try again later"
	case websocket.StatusBadGateway:
		return "bad gateway"
	}
	return ""
}

// describe is the code, its name, and the peer's own reason.
func describe(e websocket.CloseError) string {
	s := strconv.Itoa(int(e.Code))
	if n := name(e.Code); n != "" {
		s += " (" + n + ")"
	}
	if r := shown(e.Reason); r != "" {
		s += ": " + r
	}
	return s
}

// maxShown bounds what is shown of words that aren't ours, in bytes.
const maxShown = 200

// shown makes such words fit for one line.
func shown(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '.'
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return s
}

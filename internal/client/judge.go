package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// step is what follows from a probe.
type step uint8

const (
	old     step = iota // initialize, on the same connection
	trust               // it is modern
	again               // it is modern, but another revision should be tried
	respawn             // the connection is dead: initialize on a new one
	giveUp              // err says why
)

type finding struct {
	step     step
	why      string
	revision string          // for trust and again
	result   json.RawMessage // for trust: the DiscoverResult
	legacy   bool            // for again: legacy revisions are offered too
	silent   bool            // for old: only because nothing came in time
	err      error
}

// judge draws the conclusion from an answer to server/discover. Which error code a legacy server sends means nothing.
func (s *Session) judge(m *mcp.Message) finding {
	if m.Error != nil {
		e := m.Err()
		if isModernError(e) {
			return s.judgeModernError(e)
		}
		return finding{step: old, why: fmt.Sprintf("server/discover was answered with error %d", e.Code)}
	}
	supported := texts(mcp.Member(m.Result, "supportedVersions"))
	kind := mcp.Member(m.Result, "resultType")
	if len(supported) == 0 || kind != nil && mcp.Text(kind) != "complete" {
		return finding{step: old, why: "the answer to server/discover is no DiscoverResult"}
	}
	if r := common(mcp.ModernRevisions(), supported); r != "" {
		return finding{step: trust, revision: r, result: m.Result, why: "server/discover was answered"}
	}
	if common(mcp.LegacyRevisions(), supported) != "" {
		return finding{step: old, why: "server/discover lists only legacy revisions"}
	}
	return finding{step: giveUp, err: s.noCommon(supported)}
}

// judgeModernError: the server is modern, whatever it didn't like. Only a list without a revision of ours in it is
// the end.
func (s *Session) judgeModernError(e *mcp.Error) finding {
	why := fmt.Sprintf("server/discover was answered with error %d", e.Code)
	supported := texts(mcp.Member(e.Data, "supported"))
	legacy := common(mcp.LegacyRevisions(), supported) != ""
	r := common(mcp.ModernRevisions(), supported)
	switch {
	case r != "":
		return finding{step: again, revision: r, legacy: legacy, why: why}
	case len(supported) == 0:
		return finding{step: again, revision: mcp.ModernRevisions()[0], why: why}
	case legacy:
		return finding{step: old, why: why + " that lists only legacy revisions"}
	}
	return finding{step: giveUp, err: s.noCommon(supported)}
}

// isModernError tells the errors that only a modern server sends. The numbers that they had before the release are
// common among legacy servers, so there the data must fit too.
func isModernError(e *mcp.Error) bool {
	switch e.Code {
	case mcp.CodeUnsupportedVersion, mcp.CodeHeaderMismatch, mcp.CodeMissingCapability:
		return true
	case -32001, -32004:
		return len(texts(mcp.Member(e.Data, "supported"))) > 0
	case -32003:
		c := mcp.Member(e.Data, "requiredCapabilities")
		return c != nil && isObject(c)
	}
	return false
}

// judgeFailure draws the conclusion from a probe that got no answer, though there was time.
func (s *Session) judgeFailure(err error) finding {
	if e, ok := errors.AsType[*transport.StatusError](err); ok {
		if isAuthStatus(e.Status) || e.Status == http.StatusTooManyRequests { // which says nothing of its era
			return finding{step: giveUp, err: err}
		}
		if m, perr := mcp.Parse(e.Body); perr == nil && m.Error != nil {
			return s.judge(m)
		}
		return finding{step: old, why: fmt.Sprintf("server/discover was answered with HTTP status %d", e.Status)}
	}
	if _, ok := errors.AsType[*transport.Broken](err); ok {
		return finding{step: old, why: "the answer to server/discover can't be read"}
	}
	if s.handler == nil {
		return finding{step: respawn, why: s.death(err)}
	}
	if errors.Is(err, transport.ErrNotSent) || fault.KindOf(err) == fault.Auth {
		return finding{step: giveUp, err: err}
	}
	return finding{step: old, why: "server/discover failed: " + s.clean(err.Error())}
}

// common returns the first of ours that is among theirs.
func common(ours, theirs []string) string {
	for _, r := range ours {
		if slices.Contains(theirs, r) {
			return r
		}
	}
	return ""
}

// texts returns the strings of a raw JSON array, at most 100 of them.
func texts(raw json.RawMessage) []string {
	var out []string
	for e := range mcp.Elements(raw) {
		if t := mcp.Text(e); t != "" && len(out) < 100 {
			out = append(out, t)
		}
	}
	return out
}

package http

import (
	"bytes"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

const (
	maxStatusBody = 64 << 10
	maxErrorBody  = 1 << 20 // of a JSON-RPC error
	maxRest       = 64 << 10

	maxStatusTime = 5 * time.Second // for the body of an answer that isn't an MCP answer
)

// refusal makes errors of an answer that isn't a success; see Handle. id is that of the request, if there was one.
func (x *exchange) refusal(id mcp.ID) (*mcp.Message, error) {
	limit := int64(maxStatusBody)
	switch contentType(x.res) {
	case typeEvents:
		limit = 0 // it may stay open for ever
	case typeJSON:
		limit = maxErrorBody
	}
	body, err := x.readSome(limit)
	if err != nil {
		return nil, err
	}
	status := x.status(body)
	answer := errorAnswer(id, body)
	if x.session != "" && forgotSession(x.res.StatusCode, body, answer) {
		x.conn.session.drop(x.session)
		return nil, fmt.Errorf("%w: %w", transport.ErrSessionExpired, status)
	}
	if id == "" {
		answer = nil
	}
	return answer, status
}

func (x *exchange) status(body []byte) *transport.StatusError {
	return &transport.StatusError{
		Status: x.res.StatusCode, Body: body[:min(len(body), maxStatusBody)], RetryAfter: transport.RetryAfter(x.res.Header, time.Now()),
	}
}

// errorAnswer returns the JSON-RPC error that a body is, if it may belong to id; else nil.
func errorAnswer(id mcp.ID, body []byte) *mcp.Message {
	if t := bytes.TrimLeft(body, " \t\r\n"); len(t) == 0 || t[0] != '{' {
		return nil
	}
	m, err := mcp.Parse(body)
	if err != nil || !m.IsAnswer() || m.Error == nil || m.ID != "" && m.ID != id {
		return nil
	}
	m.ID = id
	return m
}

// forgotSession reports whether a refusal of a request that bore a session id says that the id isn't known (2025-11-25,
// "Session management": 404). Some servers say it with 400 and words. A dual server that knows the session, but not the
// method, answers 404 too, with a code of its own.
func forgotSession(status int, body []byte, answer *mcp.Message) bool {
	text, code := string(body), 0
	if answer != nil {
		e := answer.Err()
		text, code = e.Message, e.Code
	}
	switch {
	case code == mcp.CodeMethodNotFound || code == mcp.CodeInvalidParams:
		return false
	case status == nethttp.StatusNotFound:
		return true
	case status != nethttp.StatusBadRequest:
		return false
	}
	text = strings.ToLower(text)
	if !strings.Contains(text, "session") {
		return false
	}
	for _, word := range []string{"not found", "no valid", "invalid", "unknown", "expired", "terminated", "no active",
		"not exist", "not initialized"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// readSome reads at most limit bytes of the body. A body that breaks off, or goes on for more than 5 s, is taken as far
// as it came; it fails only if the caller gave up or the connection was closed meanwhile.
func (x *exchange) readSome(limit int64) ([]byte, error) {
	late := time.AfterFunc(maxStatusTime, func() { _ = x.res.Body.Close() })
	defer late.Stop()
	b, err := io.ReadAll(io.LimitReader(x.res.Body, limit))
	if err != nil && x.ctx.Err() != nil {
		return nil, x.explain("reading the server's error", err)
	}
	return b, nil
}

// drain closes a body that nobody reads. What is left of it is waited for a little, so that the TCP connection can be
// used again.
func drain(res *nethttp.Response) {
	late := time.AfterFunc(lingerWait, func() { _ = res.Body.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, res.Body, maxRest)
	_ = res.Body.Close()
}

package grpc

import (
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"regexp"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
)

// refused explains why a session could not be opened.
func (t *client) refused(err error) error {
	if errors.Is(err, io.EOF) {
		return notSent(errors.New("the server ended the session at once, without a reason"))
	}
	s := status.Convert(err)
	text := t.words(s.Message())
	switch s.Code() {
	case codes.Unauthenticated, codes.PermissionDenied:
		return t.unwelcome(s)
	case codes.Unavailable:
		return notSent(errors.New("the server can't be reached: " + text))
	case codes.Unimplemented:
		return notSent(fmt.Errorf("the server doesn't speak Usher's MCP over gRPC (%s/Session): %s; check the url, "+
			"or whether it wants http:// or sse", mcpv1.Mcp_ServiceDesc.ServiceName, text))
	}
	return notSent(fmt.Errorf("the server didn't open a session (%s): %s", s.Code(), text))
}

// lost explains how a session ended that had begun.
func (t *client) lost(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	s := status.Convert(err)
	text := t.words(s.Message())
	switch s.Code() {
	case codes.Unauthenticated, codes.PermissionDenied:
		return t.unwelcome(s)
	case codes.Unavailable:
		return errors.New("the connection to the server broke: " + text)
	case codes.ResourceExhausted:
		return fmt.Errorf("the server ended the session (%s): %s; a message of more than 32 MiB, or than the server allows, "+
			"ends it: ask for less at once", s.Code(), text)
	}
	return fmt.Errorf("the server ended the session (%s): %s", s.Code(), text)
}

// unwelcome is a refusal of who we are, as HTTP says it.
func (t *client) unwelcome(s *status.Status) error {
	e := &transport.StatusError{Status: nethttp.StatusUnauthorized, Body: []byte(t.words(s.Message()))}
	if s.Code() == codes.PermissionDenied {
		e.Status = nethttp.StatusForbidden
	}
	return e
}

func (t *client) clean(err error) error { return errors.New(t.words(err.Error())) }

const (
	maxWords  = 300     // of what a server says in a status, in characters
	maxStatus = 8 << 10 // of it that is looked at, in bytes
	minSecret = 6       // a shorter value would be found everywhere
)

// words are a server's own, fit for one line of ours: without the secrets we sent it, printable, and not too many.
func (t *client) words(text string) string { return t.show(text[:min(len(text), maxStatus)], maxWords) }

// show makes text of the server's fit to be seen: at most limit characters of it.
func (t *client) show(text string, limit int) string {
	for _, v := range t.secrets {
		text = strings.ReplaceAll(text, v, "…")
	}
	return mcp.Cut(printable(text), limit)
}

// values lists what in md must not be shown; of "Bearer x" also the x.
func values(md metadata.MD) (all []string) {
	for _, vs := range md {
		for _, v := range vs {
			for _, s := range append([]string{v}, strings.Fields(v)...) {
				if len(s) >= minSecret && !strings.EqualFold(s, "Bearer") {
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// escapes matches the control sequences of a terminal: CSI, OSC, and the short ones.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)

func printable(text string) string {
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, "?"), "")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '.'
	}, text)
}

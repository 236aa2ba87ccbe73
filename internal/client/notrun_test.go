package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// proof reports whether err still proves that a request was not run.
func proof(err error) bool {
	e, ok := errors.AsType[*transport.StatusError](err)
	return errors.Is(err, transport.ErrNotSent) || errors.Is(err, transport.ErrSessionExpired) || ok && isNotRunStatus(e.Status)
}

// C5, D3: HTTP statuses 408 and 429 say that the call was not run, whatever words come with them; others don't.
func TestStatusThatSaysNotRun(t *testing.T) {
	for _, c := range []struct {
		code  int
		after time.Duration
		want  bool
		words []string
	}{
		{code: 429, after: 7 * time.Second, want: true, words: []string{"429", "did not run", "Try again in 7s"}},
		{code: 429, want: true, words: []string{"429", "Try again later"}},
		{code: 408, want: true, words: []string{"408", "was not run"}},
		{code: 409, words: []string{"409", "may have run"}},
		{code: 503, after: 7 * time.Second, words: []string{"503", "may have run"}},
	} {
		for _, rpc := range []bool{false, true} {
			s := connect(t, newPosts(lines(map[string]string{mcp.MethodDiscover: discovered},
				func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
					err := fmt.Errorf("posting: %w", &transport.StatusError{Status: c.code, RetryAfter: c.after})
					if rpc {
						return mcp.ErrorAnswer(m.ID, -32000, "slow down", nil), err
					}
					return nil, err
				})), Options{})
			m, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, []byte(`{"name":"x"}`)), nil)
			if rpc && !c.want {
				if err != nil || m.Error == nil {
					t.Errorf("%d with an answer: %v, %v", c.code, m, err)
				}
				continue
			}
			wantKind(t, err, fault.ServerError, c.words...)
			if f := fault.Of(err); f.Status != c.code || proof(err) != c.want {
				t.Errorf("%d: status %d, proof %v", c.code, f.Status, proof(err))
			}
			if e, ok := errors.AsType[*transport.StatusError](err); !ok || e.RetryAfter != c.after {
				t.Errorf("%d: Retry-After is lost: %+v", c.code, e)
			}
		}
	}
}

// A server that is too busy to be asked of its era is not taken for an old one.
func TestBusyProbe(t *testing.T) {
	tr := newPosts(func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		if m.Method != mcp.MethodDiscover {
			t.Errorf("%s was sent", m.Method)
		}
		return nil, &transport.StatusError{Status: 429}
	})
	_, err := Connect(t.Context(), tr, Options{})
	wantKind(t, err, fault.ServerError, "429")
	if !proof(err) {
		t.Errorf("%v proves nothing", err)
	}
}

// C4: a call of several requests has begun with the first. Whatever proves that a later one was not run proves nothing for
// the call: else it would be made again, and the tool run twice.
func TestLaterRequestsProveNothing(t *testing.T) {
	unsent := errors.Join(transport.ErrNotSent, errors.New("connection refused"))
	for name, c := range map[string]struct {
		err  error
		kind fault.Kind
	}{
		"unsent":  {unsent, fault.Restarted},
		"expired": {fmt.Errorf("%w: %w", transport.ErrSessionExpired, status(404, "")), fault.Restarted},
		"429":     {status(429, ""), fault.ServerError},
		"408":     {status(408, ""), fault.ServerError},
	} {
		for kind, first := range map[string]string{
			"task":  `{"resultType":"task","taskId":"t","status":"working","pollIntervalMs":250}`,
			"input": `{` + needsInput + `,"requestState":"s"}`,
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					calls := 0
					s := connect(t, newPosts(lines(map[string]string{mcp.MethodDiscover: discovered},
						func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
							if calls++; calls == 1 {
								return mcp.Answer(m.ID, []byte(first)), nil
							}
							return nil, c.err
						})), Options{Capabilities: []byte(withTasks)})
					_, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, []byte(`{"name":"x"}`)), nil)
					if proof(err) {
						t.Errorf("%v proves that the call did not run", err)
					}
					wantKind(t, err, c.kind)
					if text := err.Error(); strings.Contains(text, "not run") || strings.Contains(text, "Try again") {
						t.Error(text)
					}
				})
			})
		}
	}
}

// A call that its context ends says so, also behind its first request.
func TestBegunAndGivenUp(t *testing.T) {
	err := begun(&fault.Error{Kind: fault.Cancelled, Cause: fmt.Errorf("%w: %w", transport.ErrNotSent, context.Canceled)})
	if !errors.Is(err, context.Canceled) || errors.Is(err, transport.ErrNotSent) || fault.KindOf(err) != fault.Cancelled {
		t.Error(err)
	}
}

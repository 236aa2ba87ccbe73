package client

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

const (
	maxRounds    = 10 // of one call, in which the server asks for input
	maxIdle      = 3  // of them in a row that ask nothing
	maxQuestions = 32 // in one round

	keyRequests  = "inputRequests"
	keyResponses = "inputResponses"
	keyState     = "requestState"
)

// rounds counts what a server makes of one call.
type rounds struct{ all, idle int }

// input takes an input_required result (2026-07-28, "Multi round-trip requests"), asks the peer, and returns the params
// to call with again. Nil without an error: the result is the caller's, as it is.
func (j *job) input(ctx context.Context, params, result json.RawMessage) (json.RawMessage, error) {
	if !mayAskForInput(j.method) {
		return nil, j.s.fault(fault.Protocol, "%s was answered with input_required", j.method)
	}
	questions, err := j.questions(result)
	if err != nil || j.declared.PassInput {
		return nil, err
	}
	state := mcp.Member(result, keyState)
	if string(state) == "null" {
		state = nil
	}
	if len(questions) == 0 && state == nil {
		return nil, j.s.fault(fault.Protocol, "it asks for input but names nothing that it needs")
	}
	if j.rounds.all++; j.rounds.all > maxRounds {
		return nil, j.s.fault(fault.Protocol, "it asked for input more than %d times", maxRounds)
	}
	if len(questions) > 0 {
		j.rounds.idle = 0
		if err := j.askAll(ctx, questions); err != nil {
			return nil, err
		}
	} else if err := j.idle(ctx); err != nil {
		return nil, err
	}
	return nextParams(params, responses(questions), state), nil
}

// idle waits a little before a server that only asked to be called again is. The first time it isn't kept waiting.
func (j *job) idle(ctx context.Context) error {
	if j.rounds.idle++; j.rounds.idle > maxIdle {
		return j.s.fault(fault.Protocol, "it asked to be called again more than %d times in a row", maxIdle)
	}
	return j.wait(ctx, time.Duration(j.rounds.idle-1)*time.Second)
}

func (j *job) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return j.s.failure(ctx, ctx.Err())
	case <-j.s.over:
		return j.s.failure(ctx, j.s.end)
	}
}

func mayAskForInput(method string) bool {
	switch method {
	case mcp.MethodCallTool, mcp.MethodGetPrompt, mcp.MethodReadResource:
		return true
	}
	return false
}

// nextParams returns the params of the next round. What an earlier round added is replaced; state keeps its bytes.
func nextParams(params, responses, state json.RawMessage) json.RawMessage {
	return mcp.SetMember(mcp.SetMember(params, keyResponses, responses), keyState, state)
}

// question is one of a server's inputRequests.
type question struct {
	key    []byte // raw
	method string
	params json.RawMessage
	result json.RawMessage // what the peer said
}

// questions reads what a result asks for. All must be of a kind that this request declared.
func (j *job) questions(result json.RawMessage) ([]question, error) {
	raw := mcp.Member(result, keyRequests)
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] != '{' {
		return nil, j.s.fault(fault.Protocol, "%s is no object", keyRequests)
	}
	var out []question
	for key, value := range mcp.Members(raw) {
		if len(out) == maxQuestions {
			return nil, j.s.fault(fault.Protocol, "it asks for more than %d things at once", maxQuestions)
		}
		q := question{key: key, method: mcp.Text(mcp.Member(value, "method")), params: mcp.Member(value, "params")}
		if !isObject(q.params) || q.method == "" {
			return nil, j.s.fault(fault.Protocol, "what it asks for as %.64s can't be read", key)
		}
		if e := j.declared.permits(q.method, q.params); e != nil {
			return nil, j.notPermitted(q.method, e)
		}
		out = append(out, q)
	}
	return out, nil
}

// notPermitted tells the caller that declared nothing from the server that asks beyond what was declared.
func (j *job) notPermitted(method string, e *mcp.Error) error {
	if len(j.declared.Capabilities) > 0 {
		return j.s.fault(fault.Protocol, "it asks for %s, but %s", clean(method), e.Message)
	}
	return j.cannotAsk()
}

func (j *job) cannotAsk() error {
	e := j.s.fault(fault.ServerError, "server %s asks for input, which can't be given here", j.s.o.Name)
	e.Hint = "Give all that it needs in the arguments, or use another tool"
	return e
}

// askAll puts all questions to the peer at once: a peer that can show only one at a time queues them, and one that asks
// models need not wait. The first that fails ends the others.
func (j *job) askAll(ctx context.Context, questions []question) error {
	if len(questions) == 1 {
		return j.askOne(ctx, &questions[0])
	}
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	for i := range questions {
		wait.Go(func() {
			if err := j.askOne(asking, &questions[i]); err != nil {
				cancel(err) // only the first counts
			}
		})
	}
	wait.Wait()
	if asking.Err() == nil {
		return nil
	}
	if ctx.Err() != nil {
		return j.s.failure(ctx, ctx.Err())
	}
	return context.Cause(asking)
}

func (j *job) askOne(ctx context.Context, q *question) error {
	m := mcp.Request(mcp.IntID(j.s.ids.Add(1)), q.method, q.params)
	answer, err := j.ask(ctx, m)
	switch {
	case err != nil && ctx.Err() != nil && isContextError(err):
		return j.s.failure(ctx, err)
	case fault.KindOf(err) != fault.Internal && err != nil:
		return err
	case err != nil || answer == nil:
		e := j.s.fault(fault.ServerError, "server %s asks for input (%s), and nobody could be asked", j.s.o.Name, q.method)
		e.Cause = err
		return e
	case answer.Error != nil && answer.Err().Code == mcp.CodeMethodNotFound:
		return j.cannotAsk()
	case answer.Error != nil:
		return j.s.fault(fault.ServerError, "server %s asks for input (%s), which was refused: %s", j.s.o.Name, q.method, clean(answer.Err().Message))
	}
	q.result = answer.Result
	return nil
}

// responses is the object of what the peer said; nil if there was nothing to ask.
func responses(questions []question) json.RawMessage {
	if len(questions) == 0 {
		return nil
	}
	size := 2
	for _, q := range questions {
		size += len(q.key) + len(q.result) + 2
	}
	b := append(make([]byte, 0, size), '{')
	for _, q := range questions {
		b = append(append(append(appendComma(b), q.key...), ':'), q.result...)
	}
	return append(b, '}')
}

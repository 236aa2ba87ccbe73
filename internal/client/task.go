package client

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

const (
	minPoll     = 100 * time.Millisecond
	defaultPoll = time.Second
	maxPoll     = 24 * time.Hour
	pollTime    = 30 * time.Second // for one tasks/get
	pollTries   = 3                // failures of the transport in a row that are too many
	cancelTime  = 5 * time.Second  // for tasks/cancel
)

// task waits for the end of the task that a call has become (extension io.modelcontextprotocol/tasks, SEP-2663) and
// returns its outcome as the answer to the call. When ctx ends before, or the task is given up, it is cancelled in the
// background.
func (j *job) task(ctx context.Context, created *mcp.Message) (*mcp.Message, error) {
	switch {
	case j.method != mcp.MethodCallTool || !j.declared.tasks:
		return nil, j.s.fault(fault.Protocol, `the result is of the unknown type "task", which wasn't declared`)
	case j.declared.PassTask:
		return created, nil
	}
	t := task{job: j, id: mcp.Member(created.Result, "taskId"), state: created.Result}
	if mcp.Text(t.id) == "" {
		return nil, j.s.fault(fault.Protocol, "the task that it made has no taskId")
	}
	answer, err := t.follow(ctx)
	if err != nil && !t.hasEnded() {
		t.abandon()
	}
	return answer, err
}

// task is one that runs at the server.
type task struct {
	*job
	id     json.RawMessage // raw, as the server wrote it
	state  json.RawMessage // the newest that the server told
	polled bool            // state is the answer to tasks/get, which alone has questions, result and error
	asked  map[string]bool // keys of inputRequests that were answered
	failed int             // polls in a row
}

func (t *task) hasEnded() bool {
	switch mcp.Text(mcp.Member(t.state, "status")) {
	case "completed", "failed", "cancelled":
		return t.polled
	}
	return false
}

func (t *task) follow(ctx context.Context) (*mcp.Message, error) {
	pause := pollInterval(t.state)
	if mcp.Text(mcp.Member(t.state, "status")) != "working" {
		pause = 0 // there is something to learn at once
	}
	for {
		if err := t.wait(ctx, pause); err != nil {
			return nil, err
		}
		if err := t.poll(ctx); err != nil {
			return nil, err
		}
		if answer, err := t.judge(ctx); answer != nil || err != nil {
			return answer, err
		}
		pause = pollInterval(t.state)
	}
}

// judge returns the outcome of a task that has ended. One that needs input gets it.
func (t *task) judge(ctx context.Context) (*mcp.Message, error) {
	if !t.polled {
		return nil, nil
	}
	switch status := mcp.Text(mcp.Member(t.state, "status")); status {
	case "working":
		return nil, nil
	case "input_required":
		return nil, t.give(ctx)
	case "completed":
		result := mcp.Member(t.state, "result")
		if kind, err := t.s.resultType(result); err != nil || len(result) == 0 || kind != mcp.ResultComplete {
			return nil, t.s.fault(fault.Protocol, "the completed task has no result that can be used")
		}
		return &mcp.Message{Result: result}, nil
	case "failed":
		if e := mcp.Member(t.state, "error"); isGiven(e) {
			return &mcp.Message{Error: e}, nil
		}
		return nil, t.s.fault(fault.Protocol, "the failed task has no error")
	case "cancelled":
		text := clean(mcp.Text(mcp.Member(t.state, "statusMessage")))
		return nil, t.s.fault(fault.Cancelled, "server %s cancelled the task %s", t.s.o.Name, text)
	default:
		return nil, t.s.fault(fault.Protocol, "the task has the unknown status %.64q", status)
	}
}

// give answers the questions of the task that weren't answered yet; keys are unique over its life.
func (t *task) give(ctx context.Context) error {
	all, err := t.questions(t.state)
	if err != nil {
		return err
	}
	var fresh []question
	for _, q := range all {
		if !t.asked[mcp.Text(q.key)] {
			fresh = append(fresh, q)
		}
	}
	if len(fresh) == 0 {
		return nil // the server has the answers, but hasn't gone on yet
	}
	if len(t.asked)+len(fresh) > maxRounds*maxQuestions {
		return t.s.fault(fault.Protocol, "the task asks for input without an end")
	}
	if err := t.askAll(ctx, fresh); err != nil {
		return err
	}
	answer, err := t.send(ctx, mcp.MethodUpdateTask, mcp.SetMember(taskParams(t.id), keyResponses, responses(fresh)))
	if err != nil {
		return err
	}
	if answer.Error != nil {
		return t.s.serverFault(mcp.MethodUpdateTask, answer.Err())
	}
	if t.asked == nil {
		t.asked = make(map[string]bool)
	}
	for _, q := range fresh {
		t.asked[mcp.Text(q.key)] = true
	}
	return nil
}

// poll asks for the state of the task. It changes nothing, so it may be asked again after a failure of the way.
func (t *task) poll(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, pollTime)
	answer, err := t.send(limited, mcp.MethodGetTask, taskParams(t.id))
	cancel()
	if err != nil {
		if t.failed++; ctx.Err() != nil || t.failed >= pollTries || !mayPass(err) || t.s.Err() != nil {
			return err
		}
		return nil
	}
	t.failed = 0
	if answer.Error != nil {
		return t.s.serverFault(mcp.MethodGetTask, answer.Err())
	}
	if kind, err := t.s.resultType(answer.Result); err != nil || kind != mcp.ResultComplete {
		return t.s.fault(fault.Protocol, "the result of %s is of the wrong type", mcp.MethodGetTask)
	}
	t.state, t.polled = answer.Result, true
	return nil
}

// mayPass tells the failures of the way that another request may not meet.
func mayPass(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Restarted, fault.Timeout, fault.ServerError:
		return true
	}
	return false
}

// abandon tells the server that nobody waits for the task. The caller doesn't wait for that.
func (t *task) abandon() {
	t.s.start(func() {
		ctx, cancel := context.WithTimeout(t.s.ctx, cancelTime)
		defer cancel()
		_, _ = t.send(ctx, mcp.MethodCancelTask, taskParams(t.id))
	})
}

func taskParams(id json.RawMessage) json.RawMessage {
	return append(append([]byte(`{"taskId":`), id...), '}')
}

// pollInterval is what the server wants to be left alone for, within bounds.
func pollInterval(state json.RawMessage) time.Duration {
	ms, err := strconv.ParseFloat(string(mcp.Member(state, "pollIntervalMs")), 64)
	if err != nil || ms <= 0 {
		return defaultPoll
	}
	if ms >= float64(maxPoll/time.Millisecond) {
		return maxPoll
	}
	return max(minPoll, time.Duration(ms*float64(time.Millisecond)))
}

// TaskGet asks for the state of a task, for a caller that got a `task` result by Terms.PassTask and drives it itself. The
// answer is the server's, a JSON-RPC error too; errors are those of Handle. p says on what terms, as for the call that
// made the task; it may be nil.
func (s *Session) TaskGet(ctx context.Context, id string, p mcp.Peer) (*mcp.Message, error) {
	return s.Handle(ctx, mcp.Request("0", mcp.MethodGetTask, taskParams(mcp.Quote(id))), p)
}

// TaskUpdate gives a task the answers to its inputRequests: an object of results by their keys.
func (s *Session) TaskUpdate(ctx context.Context, id string, responses json.RawMessage, p mcp.Peer) (*mcp.Message, error) {
	return s.Handle(ctx, mcp.Request("0", mcp.MethodUpdateTask, mcp.SetMember(taskParams(mcp.Quote(id)), keyResponses, responses)), p)
}

// TaskCancel asks the server to end a task. The server may end it later, or not at all.
func (s *Session) TaskCancel(ctx context.Context, id string, p mcp.Peer) (*mcp.Message, error) {
	return s.Handle(ctx, mcp.Request("0", mcp.MethodCancelTask, taskParams(mcp.Quote(id))), p)
}

package flows

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/fault"
)

// Agent does whatever it reads. It remembers across its sessions, as people's agents do.
type Agent struct {
	w      *World
	client string
	s      *usher.Session
	held   string // the last thing it read
	note   string // the key of the notes it reads and writes
	calls  int
	// Lost are failures that aren't somebody's no: with them nothing is shown.
	Lost []error
}

// NewAgent begins a session of a client of that name.
func (w *World) NewAgent(client string) (*Agent, error) {
	a := &Agent{w: w, client: client, note: "k"}
	return a, a.NewSession()
}

// NewSession ends the agent's session and begins another one.
func (a *Agent) NewSession() (err error) {
	a.Leave()
	a.s, err = a.w.Host.Session(usher.SessionOptions{Kind: "agent", Client: a.client})
	return err
}

// Leave ends the session.
func (a *Agent) Leave() {
	if a.s != nil {
		a.s.Close("done")
	}
}

// call returns the answer, or nil where it was refused.
func (a *Agent) call(ctx context.Context, tool string, args object) []byte {
	a.calls++
	raw, err := json.Marshal(args)
	if err != nil {
		a.Lost = append(a.Lost, err)
		return nil
	}
	r, err := a.s.Call(ctx, tool, raw)
	switch kind := fault.KindOf(err); {
	case err == nil:
		return r.Raw
	case kind != fault.PermissionDenied && kind != fault.ApprovalRequired:
		a.Lost = append(a.Lost, fmt.Errorf("%s: %s", tool, kind))
	}
	return nil
}

// Read fetches a page and does what it says.
func (a *Agent) Read(ctx context.Context, page string) {
	a.Obey(ctx, plan(a.call(ctx, "mcp.web.fetch", object{"url": page})))
}

// Obey takes the steps.
func (a *Agent) Obey(ctx context.Context, steps []step) {
	for _, s := range steps {
		got := a.call(ctx, s.tool, a.args(s))
		if got != nil && !carries(s.tool) {
			a.held = texts(got)
		}
	}
}

// args gives a tool what it wants; a sink gets what the agent holds.
func (a *Agent) args(s step) object {
	held := written(a.held, s.as)
	switch s.tool {
	case "mcp.mail.read_mail":
		return object{"id": "1"}
	case "local.read_file":
		return object{"path": "notes.txt"}
	case "mcp.notes.read_note":
		return object{"key": a.note}
	case "mcp.notes.write_note":
		return object{"key": a.note, "text": held}
	case "mcp.web.fetch":
		return object{"url": "page?" + held}
	case "mcp.net.lookup":
		return object{"q": held}
	case "mcp.net.post":
		return object{"url": "there", "body": held}
	case "mcp.net.send":
		return object{"text": held}
	}
	return object{}
}

// texts is all that a result says.
func texts(result []byte) (all string) {
	for _, s := range stringsOf(result) {
		all += s + "\n"
	}
	return all
}

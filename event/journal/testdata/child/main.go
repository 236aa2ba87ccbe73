// Command child writes a journal until it is killed. It notes, outside the journal, what Wait has acknowledged. With
// LAZY=1 that mostly lies in the spool then, else in the files.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir, acks, durability string) error {
	ctx := context.Background()
	ack, err := os.OpenFile(acks, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer ack.Close()
	j, err := journal.Open(ctx, journal.Options{Dir: dir, Durability: durability, RotateBytes: 6000})
	if err != nil {
		return err
	}
	for s := range 3 {
		session := fmt.Sprintf("%s.%d", j.Host(), s)
		if _, err := j.Append(ctx, session, event.SessionStarted{Kind: "gateway"}); err != nil {
			return err
		}
		for c := range 6 {
			if err := call(ctx, j, ack, session, fmt.Sprintf("c%d", c), s == 1 && c >= 4); err != nil {
				return err
			}
		}
		if s == 1 {
			continue // left open
		}
		if _, err := j.Append(ctx, session, event.SessionEnded{Reason: "done"}); err != nil {
			return err
		}
	}
	return j.Close()
}

// call records one call; if open is set it never ends.
func call(ctx context.Context, j *journal.Journal, ack *os.File, session, id string, open bool) error {
	const tool = "mcp.fs.write"
	m, err := j.Append(ctx, session,
		event.ToolCallRequested{ToolCallID: id, Tool: tool, Args: json.RawMessage(`{"path": "a", "n": 1.0}`)},
		event.PermissionRequested{ToolCallID: id, Tool: tool, RiskAtDecision: "write", SourcedFrom: "default"},
		event.PermissionResolved{ToolCallID: id, Decision: "allow", Actor: "rule", SourcedFrom: "rule:user"},
		event.CallStarted{Server: "fs", ToolCallID: id, Method: "tools/call"},
		event.ToolStarted{Tool: tool, ToolCallID: id})
	if err == nil {
		err = wait(ctx, j, m)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(ack, session, "tool.started", id)
	if id == "c2" || id == "c5" { // it is tried again
		m, err = j.Append(ctx, session, event.CallFailed{Server: "fs", ToolCallID: id, DurationMs: 1, Kind: "NetworkError", Message: "503"},
			event.CallStarted{Server: "fs", ToolCallID: id, Method: "tools/call"})
		if err == nil {
			err = wait(ctx, j, m)
		}
		if err != nil {
			return err
		}
	}
	if open {
		return nil
	}
	m, err = j.Append(ctx, session, event.CallCompleted{Server: "fs", ToolCallID: id, DurationMs: 3},
		event.ToolCompleted{Tool: tool, ToolCallID: id, ResultPreview: "ok", ResultSize: 2})
	if err == nil {
		err = wait(ctx, j, m)
	}
	if err == nil {
		fmt.Fprintln(ack, session, "tool.completed", id)
	}
	return err
}

func wait(ctx context.Context, j *journal.Journal, m event.Mark) error {
	err := j.Wait(ctx, m)
	if err == nil && os.Getenv("LAZY") == "" {
		err = j.Flush()
	}
	return err
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// core is what the server does, whatever carries it.
type core struct {
	name    string
	modern  bool
	journal *os.File

	mu     sync.Mutex
	flying map[string]bool // calls that are in the journal and not answered
	until  time.Time       // of the hang or slowness
	slow   time.Duration   // how late each answer is; 0 while until holds: none comes before
	mute   int             // so many answers never come
	deaf   time.Time       // when mute is over at the latest
}

type call struct {
	Name      string
	Arguments struct {
		ID   string
		Work int // ms
	}
}

const (
	discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
	greeted    = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"chaos","version":"1"}}`
	schema     = `{"type":"object","properties":{"id":{"type":"string"},"work":{"type":"integer"}}}`
	listed     = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[` +
		`{"name":"read","inputSchema":` + schema + `,"annotations":{"readOnlyHint":true}},` +
		`{"name":"write","inputSchema":` + schema + `,"annotations":{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false}}]}`
)

var _ mcp.Handler = (*core)(nil)

// Handle answers one request.
func (c *core) Handle(ctx context.Context, req *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	switch {
	case req.IsNotification():
		return nil, nil
	case req.Method == mcp.MethodCallTool:
		return c.call(ctx, req)
	case req.Method == mcp.MethodListTools:
		return mcp.Answer(req.ID, json.RawMessage(listed)), nil
	case req.Method == mcp.MethodDiscover && c.modern:
		return mcp.Answer(req.ID, json.RawMessage(discovered)), nil
	case req.Method == mcp.MethodInitialize && !c.modern:
		return mcp.Answer(req.ID, json.RawMessage(greeted)), nil
	case req.Method == mcp.MethodPing:
		return mcp.Answer(req.ID, json.RawMessage(`{}`)), nil
	}
	return mcp.ErrorAnswer(req.ID, mcp.CodeMethodNotFound, "Method not found", nil), nil
}

// call runs whether somebody still waits for it or not, as many servers do.
func (c *core) call(ctx context.Context, req *mcp.Message) (*mcp.Message, error) {
	var in call
	if err := json.Unmarshal(req.Params, &in); err != nil {
		return nil, err
	}
	id := in.Arguments.ID
	if err := c.begin(id, in.Name); err != nil {
		return nil, err
	}
	defer c.end(id)
	time.Sleep(time.Duration(in.Arguments.Work) * time.Millisecond)
	if !c.linger() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	text := mcp.Quote(c.name + " did " + id)
	return mcp.Answer(req.ID, fmt.Appendf(nil, `{"resultType":"complete","content":[{"type":"text","text":%s}]}`, text)), nil
}

func (c *core) begin(id, tool string) error {
	c.mu.Lock()
	c.flying[id] = true
	c.mu.Unlock()
	if _, err := fmt.Fprintf(c.journal, "%s %s\n", id, tool); err != nil {
		return err
	}
	return c.journal.Sync()
}

func (c *core) end(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.flying, id)
}

// linger waits as long as the server hangs or is slow; false if this call stays unanswered.
func (c *core) linger() bool {
	c.mu.Lock()
	wait := min(c.slow, time.Until(c.until))
	if c.slow == 0 {
		wait = time.Until(c.until)
	}
	mute := c.mute > 0 && time.Now().Before(c.deaf)
	if mute {
		c.mute--
	}
	c.mu.Unlock()
	time.Sleep(wait)
	return !mute
}

// inFlight waits, but not longer than limit, until calls are in flight.
func (c *core) inFlight(limit time.Duration) []string {
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond / 2) {
		c.mu.Lock()
		var ids []string
		for id := range c.flying {
			ids = append(ids, id)
		}
		c.mu.Unlock()
		if len(ids) > 0 || time.Now().After(end) {
			slices.Sort(ids)
			return ids
		}
	}
}

// hang makes answers wait for d, or each be late by slow within it.
func (c *core) hang(d, slow time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until, c.slow = time.Now().Add(d), slow
}

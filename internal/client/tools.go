package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

// Dropped is a tool that a listing brought but that can't be offered.
type Dropped struct{ Tool, Reason string }

const maxDropped = 100 // of which the reasons are kept

// Tools lists the server's tools: all pages of tools/list, within Limits. What came is returned even when a later page
// fails or a bound is hit; then complete says why, as a *fault.Error. A definition that can't be used drops that tool
// only, see Dropped. A server that declared no tools isn't asked.
func (s *Session) Tools(ctx context.Context) (tools []mcp.Tool, complete error) {
	if mcp.Member(s.way.info.Capabilities, "tools") == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Limits.Time)
	defer cancel()
	l := listing{s: s, names: make(map[string]bool), cursors: make(map[string]bool)}
	if s.handler != nil && s.way.info.Era == mcp.Modern {
		l.headers = make(headerTable)
	}
	complete = l.all(ctx)
	if l.headers != nil {
		if complete != nil {
			l.keepOld(s.headers.Load())
		}
		s.headers.Store(&l.headers)
	}
	s.bad.Store(&l.bad)
	return l.tools, complete
}

// Dropped returns what the last listing dropped, the first 100 of it.
func (s *Session) Dropped() []Dropped {
	if bad := s.bad.Load(); bad != nil {
		return *bad
	}
	return nil
}

// listing collects the pages of one tools/list.
type listing struct {
	s       *Session
	tools   []mcp.Tool
	bad     []Dropped
	headers headerTable // nil where no headers are mirrored
	names   map[string]bool
	cursors map[string]bool
	bytes   int
}

// keepOld takes over what an earlier listing told of the tools that this one didn't reach.
func (l *listing) keepOld(old *headerTable) {
	if old == nil {
		return
	}
	for name, h := range *old {
		if !l.names[name] {
			l.headers[name] = h
		}
	}
}

func (l *listing) all(ctx context.Context) error {
	var cursor json.RawMessage
	for page := 1; ; page++ {
		if page > l.s.o.Limits.Pages {
			return l.bound("%d pages", l.s.o.Limits.Pages)
		}
		result, err := l.page(ctx, cursor)
		if err != nil {
			return err
		}
		if err := l.take(result); err != nil {
			return err
		}
		cursor = mcp.Member(result, "nextCursor")
		if cursor == nil || string(cursor) == "null" || string(cursor) == `""` {
			return nil
		}
		if cursor[0] != '"' {
			return l.s.fault(fault.Protocol, "nextCursor of %s is no string", mcp.MethodListTools)
		}
		if l.cursors[string(cursor)] {
			return l.s.fault(fault.Protocol, "%s gave the same cursor twice; %d tools were kept", mcp.MethodListTools, len(l.tools))
		}
		l.cursors[string(cursor)] = true
	}
}

func (l *listing) page(ctx context.Context, cursor json.RawMessage) (json.RawMessage, error) {
	req := mcp.Request("0", mcp.MethodListTools, nil)
	if cursor != nil {
		req.Params = mcp.SetMember(nil, "cursor", cursor)
	}
	answer, err := l.s.Handle(ctx, req, mcp.Nobody)
	if err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, l.s.serverFault(mcp.MethodListTools, answer.Err())
	}
	return answer.Result, nil
}

func (l *listing) take(result json.RawMessage) error {
	limits := l.s.o.Limits
	if l.bytes += len(result); l.bytes > limits.Bytes {
		return l.bound("%d bytes", limits.Bytes)
	}
	list := mcp.Member(result, "tools")
	if len(list) == 0 || list[0] != '[' {
		return l.s.fault(fault.Protocol, "the result of %s has no array of tools", mcp.MethodListTools)
	}
	for raw := range mcp.Elements(list) {
		if len(l.names) == limits.Items {
			return l.bound("%d tools", limits.Items)
		}
		tool, err := mcp.ParseTool(raw)
		if err == nil {
			err = l.accept(tool)
		}
		if err != nil && len(l.bad) < maxDropped {
			l.bad = append(l.bad, Dropped{Tool: clean(tool.Name), Reason: clean(err.Error())})
		}
	}
	return nil
}

func (l *listing) accept(tool mcp.Tool) error {
	if l.names[tool.Name] {
		return errors.New("a second tool of this name")
	}
	if err := checkName(tool.Name); err != nil {
		return err
	}
	if l.headers != nil {
		h, err := schemaHeaders(tool.InputSchema)
		if err != nil {
			return err
		}
		if len(h) > 0 {
			l.headers[tool.Name] = h
		}
	}
	l.names[tool.Name] = true
	l.tools = append(l.tools, tool)
	return nil
}

// checkName refuses names that could be mistaken for something else where people read them or write rules about them.
// The specification's alphabet is narrower (2025-11-25, "Tool Names"), but servers in use have spaces and more.
func checkName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("its name is longer than %d bytes", maxName)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) || r == '*' {
			return errors.New("its name has a character that is not shown, or a *")
		}
	}
	return nil
}

const maxName = 512

func (l *listing) bound(format string, n int) error {
	return l.s.fault(fault.TooLarge, mcp.MethodListTools+" brought more than "+format+"; %d tools were kept", n, len(l.tools))
}

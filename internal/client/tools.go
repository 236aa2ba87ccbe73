package client

import (
	"context"

	"github.com/usher-mcp/usher/mcp"
)

// Tools is ListTools without what it says of caching. Session.Dropped keeps what couldn't be offered.
func (s *Session) Tools(ctx context.Context) (tools []mcp.Tool, complete error) {
	l, err := s.ListTools(ctx)
	return l.Items, err
}

// ListTools lists the server's tools: all pages of tools/list, within Limits. What came is returned even when a later
// page fails or a bound is hit; then the error, a *fault.Error, says why. A definition that can't be used drops that
// tool only. A server that declared no tools isn't asked.
func (s *Session) ListTools(ctx context.Context) (List[mcp.Tool], error) {
	var headers headerTable // nil where no headers are mirrored
	if s.handler != nil && s.way.info.Era == mcp.Modern {
		headers = make(headerTable)
	}
	l, err := list(ctx, s, kind[mcp.Tool]{
		method: mcp.MethodListTools, capability: "tools", member: "tools",
		parse:  func(raw []byte) (mcp.Tool, error) { return mcp.ParseTool(raw) },
		name:   func(t mcp.Tool) string { return t.Name },
		accept: headers.accept,
	})
	if headers != nil {
		if err != nil {
			headers.keepOld(s.headers.Load(), l.Items)
		}
		s.headers.Store(&headers)
	}
	s.bad.Store(&l.Dropped)
	return l, err
}

// Dropped returns what the last listing of tools dropped, the first 100 of it.
func (s *Session) Dropped() []Dropped {
	if bad := s.bad.Load(); bad != nil {
		return *bad
	}
	return nil
}

// accept enters the headers of a tool.
func (t headerTable) accept(tool mcp.Tool, name string) error {
	if err := checkName(name); err != nil || t == nil {
		return err
	}
	h, err := schemaHeaders(tool.InputSchema)
	if err != nil {
		return err
	}
	delete(t, name) // of a listing that was started over
	if len(h) > 0 {
		t[name] = h
	}
	return nil
}

// keepOld takes over what an earlier listing told of the tools that this one didn't reach.
func (t headerTable) keepOld(old *headerTable, reached []mcp.Tool) {
	if old == nil {
		return
	}
	listed := make(map[string]bool, len(reached))
	for _, tool := range reached {
		listed[tool.Name] = true
	}
	for name, h := range *old {
		if !listed[name] {
			t[name] = h
		}
	}
}

// ListResources lists the server's resources, as ListTools does its tools.
func (s *Session) ListResources(ctx context.Context) (List[mcp.Resource], error) {
	return list(ctx, s, kind[mcp.Resource]{
		method: mcp.MethodListResources, capability: "resources", member: "resources",
		parse:  func(raw []byte) (mcp.Resource, error) { return mcp.ParseResource(raw) },
		name:   func(r mcp.Resource) string { return r.URI },
		accept: func(_ mcp.Resource, uri string) error { return checkURI(uri) },
	})
}

// ListResourceTemplates lists the server's resource templates, as ListTools does its tools. A server with resources
// that doesn't know the method has none.
func (s *Session) ListResourceTemplates(ctx context.Context) (List[mcp.ResourceTemplate], error) {
	return list(ctx, s, kind[mcp.ResourceTemplate]{
		method: mcp.MethodListResourceTemplates, capability: "resources", member: "resourceTemplates", optional: true,
		parse:  func(raw []byte) (mcp.ResourceTemplate, error) { return mcp.ParseResourceTemplate(raw) },
		name:   func(t mcp.ResourceTemplate) string { return t.URITemplate },
		accept: func(_ mcp.ResourceTemplate, uri string) error { return checkURI(uri) },
	})
}

// ListPrompts lists the server's prompts, as ListTools does its tools.
func (s *Session) ListPrompts(ctx context.Context) (List[mcp.Prompt], error) {
	return list(ctx, s, kind[mcp.Prompt]{
		method: mcp.MethodListPrompts, capability: "prompts", member: "prompts",
		parse:  func(raw []byte) (mcp.Prompt, error) { return mcp.ParsePrompt(raw) },
		name:   func(p mcp.Prompt) string { return p.Name },
		accept: func(_ mcp.Prompt, name string) error { return checkName(name) },
	})
}

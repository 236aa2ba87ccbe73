package catalog

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

// facet is what one kind of item has of its own.
type facet[T any] struct {
	kind   Kind
	member string // of a record
	list   func(*Entry) *List[T]
	raw    func(T) json.RawMessage
	name   func(T) string // which no two may share
	parse  func(json.RawMessage) (T, error)
	usable func(name string) error
}

func toolFacet() facet[mcp.Tool] {
	return facet[mcp.Tool]{
		kind: Tools, member: "tools", parse: mcp.ParseTool, usable: client.UsableName,
		list: func(e *Entry) *List[mcp.Tool] { return &e.Tools },
		raw:  func(t mcp.Tool) json.RawMessage { return t.Raw },
		name: func(t mcp.Tool) string { return t.Name },
	}
}

func resourceFacet() facet[mcp.Resource] {
	return facet[mcp.Resource]{
		kind: Resources, member: "resources", parse: mcp.ParseResource, usable: client.UsableURI,
		list: func(e *Entry) *List[mcp.Resource] { return &e.Resources },
		raw:  func(r mcp.Resource) json.RawMessage { return r.Raw },
		name: func(r mcp.Resource) string { return r.URI },
	}
}

func templateFacet() facet[mcp.ResourceTemplate] {
	return facet[mcp.ResourceTemplate]{
		kind: Templates, member: "resourceTemplates", parse: mcp.ParseResourceTemplate, usable: client.UsableURI,
		list: func(e *Entry) *List[mcp.ResourceTemplate] { return &e.Templates },
		raw:  func(t mcp.ResourceTemplate) json.RawMessage { return t.Raw },
		name: func(t mcp.ResourceTemplate) string { return t.URITemplate },
	}
}

func promptFacet() facet[mcp.Prompt] {
	return facet[mcp.Prompt]{
		kind: Prompts, member: "prompts", parse: mcp.ParsePrompt, usable: client.UsableName,
		list: func(e *Entry) *List[mcp.Prompt] { return &e.Prompts },
		raw:  func(p mcp.Prompt) json.RawMessage { return p.Raw },
		name: func(p mcp.Prompt) string { return p.Name },
	}
}

// take enters what a listing brought. It reports whether the items are others than before.
func (l *List[T]) take(m Moment, got client.List[T], err error, raw func(T) json.RawMessage) (changed bool) {
	if m.n < l.tried {
		return false // a later listing was quicker
	}
	l.tried = m.n
	if err != nil {
		l.Err, l.Failed = err, m.at
		l.failures++
		if l.Complete || len(got.Items) == 0 || len(got.Items) < len(l.Items) {
			return false // a part is better than nothing, or than a part that is shorter
		}
	} else {
		l.Err, l.Failed, l.failures = nil, time.Time{}, 0
	}
	if changed = !sameItems(l.Items, got.Items, raw); changed {
		l.Items = got.Items
	}
	l.Listed, l.TTL, l.Private, l.Complete, l.Cached, l.begun = m.at, got.TTL, got.Private, err == nil, false, m.n
	return changed
}

// sameItems compares by the bytes that the server sent. Another order is no change: some servers have a new one each
// time, and what agents see should stay as it is.
func sameItems[T any](a, b []T, raw func(T) json.RawMessage) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && bytes.Equal(raw(a[i]), raw(b[i])) {
		i++
	}
	if i == len(a) {
		return true
	}
	count := make(map[string]int, len(a)-i)
	for _, item := range a[i:] {
		count[string(raw(item))]++
	}
	for _, item := range b[i:] {
		if count[string(raw(item))] == 0 {
			return false
		}
		count[string(raw(item))]--
	}
	return true
}

package client

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

// offering is a DiscoverResult, or the answer to initialize, with other capabilities.
func offering(line, capabilities string) string {
	return strings.Replace(line, `{"tools":{}}`, capabilities, 1)
}

func modernOffering(capabilities string, then func(*wire, *mcp.Message)) func(*wire) {
	return server(map[string]string{mcp.MethodDiscover: offering(discovered, capabilities)}, then)
}

func legacyOffering(capabilities string, then func(*wire, *mcp.Message)) func(*wire) {
	return server(map[string]string{
		mcp.MethodDiscover: unknownMethod, mcp.MethodInitialize: offering(initialized, capabilities),
	}, then)
}

const allKinds = `{"tools":{},"resources":{},"prompts":{}}`

// listAll lists every kind and returns what came by method.
func listAll(ctx context.Context, s *Session) (names map[string][]string, errs map[string]error) {
	names, errs = map[string][]string{}, map[string]error{}
	tools, err := s.ListTools(ctx)
	errs[mcp.MethodListTools] = err
	for _, i := range tools.Items {
		names[mcp.MethodListTools] = append(names[mcp.MethodListTools], i.Name)
	}
	resources, err := s.ListResources(ctx)
	errs[mcp.MethodListResources] = err
	for _, i := range resources.Items {
		names[mcp.MethodListResources] = append(names[mcp.MethodListResources], i.URI)
	}
	templates, err := s.ListResourceTemplates(ctx)
	errs[mcp.MethodListResourceTemplates] = err
	for _, i := range templates.Items {
		names[mcp.MethodListResourceTemplates] = append(names[mcp.MethodListResourceTemplates], i.URITemplate)
	}
	prompts, err := s.ListPrompts(ctx)
	errs[mcp.MethodListPrompts] = err
	for _, i := range prompts.Items {
		names[mcp.MethodListPrompts] = append(names[mcp.MethodListPrompts], i.Name)
	}
	return names, errs
}

// C1, case-210: all kinds, all pages; what can't be offered is dropped alone.
func TestListsOfAllKinds(t *testing.T) {
	pages := map[string][2]string{
		mcp.MethodListTools: {`{"tools":[{"name":"a"},{"name":"a"},{}],"nextCursor":"\u002F"}`, `{"tools":[{"name":"b"}]}`},
		mcp.MethodListResources: {`{"resources":[{"uri":"f:a","name":"x"},{"uri":"f:a"},{"uri":7},{"uri":"f:\u0007"}],"nextCursor":"\u002F"}`,
			`{"resources":[{"uri":"f:b"}]}`},
		mcp.MethodListResourceTemplates: {`{"resourceTemplates":[{"uriTemplate":"f:{a}"},{"name":"x"}],"nextCursor":"\u002F"}`,
			`{"resourceTemplates":[{"uriTemplate":"f:{b}"}]}`},
		mcp.MethodListPrompts: {`{"prompts":[{"name":"a","arguments":[{"name":"x"}]},{"name":"*"}],"nextCursor":"\u002F"}`, `{"prompts":[{"name":"b"}]}`},
	}
	for era, shake := range map[string]func(string, func(*wire, *mcp.Message)) func(*wire){"modern": modernOffering, "legacy": legacyOffering} {
		t.Run(era, func(t *testing.T) {
			s := connect(t, newMemory(t, shake(allKinds, func(w *wire, m *mcp.Message) {
				p, n := pages[m.Method], 0
				if c := mcp.Member(m.Params, "cursor"); string(c) == `"\u002F"` {
					n = 1
				} else if c != nil {
					t.Errorf("%s got the cursor %s", m.Method, c)
				}
				w.say(m, discoverLine(p[n]))
			})), Options{})
			names, errs := listAll(t.Context(), s)
			want := map[string][]string{
				mcp.MethodListTools: {"a", "b"}, mcp.MethodListResources: {"f:a", "f:b"},
				mcp.MethodListResourceTemplates: {"f:{a}", "f:{b}"}, mcp.MethodListPrompts: {"a", "b"},
			}
			if d := cmp.Diff(want, names); d != "" {
				t.Error(d)
			}
			for method, err := range errs {
				if err != nil {
					t.Errorf("%s: %v", method, err)
				}
			}
			if l, _ := s.ListResources(t.Context()); len(l.Dropped) != 3 {
				t.Errorf("dropped %+v", l.Dropped)
			}
		})
	}
}

// C1: a method that the server did not declare is not called.
func TestNothingUndeclaredIsListed(t *testing.T) {
	s := connect(t, newMemory(t, modernOffering(`{"completions":{}}`, func(_ *wire, m *mcp.Message) {
		t.Errorf("the server was asked %s", m.Method)
	})), Options{})
	names, errs := listAll(t.Context(), s)
	for method, err := range errs {
		if err != nil || names[method] != nil {
			t.Errorf("%s: %v, %v", method, names[method], err)
		}
	}
}

// A server with resources that knows no templates has none; one that fails otherwise has failed (case-077).
func TestListsThatFail(t *testing.T) {
	code := "-32601"
	s := connect(t, newMemory(t, legacyOffering(allKinds, func(w *wire, m *mcp.Message) { w.say(m, errorLine(code, "")) })), Options{})
	_, errs := listAll(t.Context(), s)
	for method, err := range errs {
		if method == mcp.MethodListResourceTemplates {
			if err != nil {
				t.Errorf("%s: %v", method, err)
			}
			continue
		}
		wantKind(t, err, fault.ServerError, method)
	}
	code = "-32603"
	_, err := s.ListResourceTemplates(t.Context())
	wantKind(t, err, fault.ServerError, code)
}

// 2026-07-28, "Caching": the least ttl of the pages; private if one of them is.
func TestCachingOfLists(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string
		ttl           time.Duration
		private       bool
	}{
		"public":     {`"ttlMs":5000,"cacheScope":"public"`, `"ttlMs":3000,"cacheScope":"public"`, 3 * time.Second, false},
		"private":    {`"ttlMs":1000,"cacheScope":"public"`, `"ttlMs":3000,"cacheScope":"private"`, time.Second, true},
		"private 1":  {`"ttlMs":1000,"cacheScope":"private"`, `"ttlMs":3000,"cacheScope":"public"`, time.Second, true},
		"absent":     {`"ttlMs":1000,"cacheScope":"public"`, `"x":1`, 0, true},
		"negative":   {`"ttlMs":-1,"cacheScope":"public"`, `"ttlMs":3000,"cacheScope":"public"`, 0, false},
		"no integer": {`"ttlMs":"9","cacheScope":"public"`, `"ttlMs":3000,"cacheScope":"public"`, 0, false},
		"huge":       {`"ttlMs":9223372036854775807,"cacheScope":"public"`, `"ttlMs":9223372036854775807,"cacheScope":"public"`, maxTTL, false},
		"incomplete": {`"ttlMs":5000,"cacheScope":"public"`, `"ttlMs":5000,"cacheScope":"public","nextCursor":7`, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := connect(t, newMemory(t, modernOffering(allKinds, func(w *wire, m *mcp.Message) {
				if mcp.Member(m.Params, "cursor") == nil {
					w.say(m, discoverLine(`{"prompts":[],"nextCursor":"c",`+c.first+`}`))
					return
				}
				w.say(m, discoverLine(`{"prompts":[],`+c.second+`}`))
			})), Options{})
			l, _ := s.ListPrompts(t.Context())
			if l.TTL != c.ttl || l.Private != c.private {
				t.Errorf("%v, private %v; want %v, %v", l.TTL, l.Private, c.ttl, c.private)
			}
		})
	}
}

// 2026-07-28, "Caching": a cursor that isn't valid any more starts the listing over, once.
func TestListStartsOver(t *testing.T) {
	for fails, want := range map[int]string{1: "new1 new2", 2: "old"} {
		lists, refused := 0, 0
		s := connect(t, newMemory(t, modernOffering(allKinds, func(w *wire, m *mcp.Message) {
			switch cursor := mcp.Member(m.Params, "cursor"); {
			case cursor == nil && lists < fails:
				lists++
				w.say(m, page(toolLine("old"), `"o"`))
			case cursor == nil:
				w.say(m, page(toolLine("new1"), `"n"`))
			case string(cursor) == `"o"`:
				refused++
				w.say(m, errorLine("-32602", ""))
			default:
				w.say(m, page(toolLine("new2"), ""))
			}
		})), Options{})
		l, err := s.ListTools(t.Context())
		var names []string
		for _, tool := range l.Items {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != want || (err != nil) != (fails == 2) || refused != fails {
			t.Errorf("%d times: got %s, %v; %d refusals", fails, got, err, refused)
		}
	}
}

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

// List is what one listing brought, of all pages within Limits.
type List[T any] struct {
	Items   []T
	Dropped []Dropped // the first 100 that can't be offered

	// TTL is how long the list may be kept without asking again (2026-07-28, "Caching"): the least of its pages. 0 if
	// the server gave none, and for a list that isn't complete.
	TTL time.Duration
	// Private lists may be kept only for whoever has the same authorization: one page says so, or none says otherwise.
	Private bool
}

// Dropped is what a listing brought but can't be offered.
type Dropped struct{ Name, Reason string }

const (
	maxDropped = 100 // of which the reasons are kept
	maxName    = 512
	maxURI     = 8 << 10
	maxTTL     = 365 * 24 * time.Hour
)

// kind is one kind of thing that a server lists.
type kind[T any] struct {
	method, capability string
	member             string // of the result; what things of this kind are called in errors, too
	parse              func([]byte) (T, error)
	name               func(T) string        // which no two may share
	accept             func(T, string) error // says why a thing can't be offered
	optional           bool                  // a server that doesn't know the method has none
}

// list asks for all pages. What came is returned even when a later page fails or a bound is hit; then the error, a
// *fault.Error, says why. A server that didn't declare the capability isn't asked.
func list[T any](ctx context.Context, s *Session, k kind[T]) (List[T], error) {
	if mcp.Member(s.way.info.Capabilities, k.capability) == nil {
		return List[T]{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Limits.Time)
	defer cancel()
	l := listing[T]{s: s, kind: k}
	l.reset()
	err := l.all(ctx)
	if err != nil && l.movedOn(err) {
		l.reset() // once
		err = l.all(ctx)
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok && k.optional && l.pages == 0 && e.Code == mcp.CodeMethodNotFound {
		err = nil
	}
	if err != nil || l.pages == 0 {
		l.list.TTL = 0
	}
	return l.list, err
}

// listing collects the pages of one list.
type listing[T any] struct {
	s *Session
	kind[T]
	list    List[T]
	pages   int // that came
	names   map[string]bool
	cursors map[string]bool
	bytes   int
}

func (l *listing[T]) reset() {
	l.list, l.pages = List[T]{TTL: maxTTL}, 0
	l.names, l.cursors = make(map[string]bool), make(map[string]bool)
}

// movedOn tells the refusal of a cursor that the server gave: its list has changed meanwhile, so the pages that came are
// of no use.
func (l *listing[T]) movedOn(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && l.pages > 0 && e.Code == mcp.CodeInvalidParams
}

func (l *listing[T]) all(ctx context.Context) error {
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
			return l.s.fault(fault.Protocol, "nextCursor of %s is no string", l.method)
		}
		if l.cursors[string(cursor)] {
			return l.s.fault(fault.Protocol, "%s gave the same cursor twice; %d %s were kept", l.method, len(l.list.Items), l.member)
		}
		l.cursors[string(cursor)] = true
	}
}

func (l *listing[T]) page(ctx context.Context, cursor json.RawMessage) (json.RawMessage, error) {
	req := mcp.Request("0", l.method, nil)
	if cursor != nil {
		req.Params = mcp.SetMember(nil, "cursor", cursor)
	}
	answer, err := l.s.Handle(ctx, req, mcp.Nobody)
	if err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, l.s.serverFault(l.method, answer.Err())
	}
	return answer.Result, nil
}

func (l *listing[T]) take(result json.RawMessage) error {
	limits := l.s.o.Limits
	if l.bytes += len(result); l.bytes > limits.Bytes {
		return l.bound("%d bytes", limits.Bytes)
	}
	array := mcp.Member(result, l.member)
	if len(array) == 0 || array[0] != '[' {
		return l.s.fault(fault.Protocol, "the result of %s has no array of %s", l.method, l.member)
	}
	l.pages++
	l.list.TTL = min(l.list.TTL, ttl(result))
	l.list.Private = l.list.Private || mcp.Text(mcp.Member(result, "cacheScope")) != "public"
	for raw := range mcp.Elements(array) {
		if len(l.names) == limits.Items {
			return l.bound("%d "+l.member, limits.Items)
		}
		if name, err := l.add(raw); err != nil && len(l.list.Dropped) < maxDropped {
			l.list.Dropped = append(l.list.Dropped, Dropped{Name: clean(name), Reason: clean(err.Error())})
		}
	}
	return nil
}

func (l *listing[T]) add(raw []byte) (name string, err error) {
	item, err := l.parse(raw)
	name = l.name(item)
	if err != nil {
		return name, err
	}
	if l.names[name] {
		return name, errors.New("a second one of this name")
	}
	if err := l.accept(item, name); err != nil {
		return name, err
	}
	l.names[name] = true
	l.list.Items = append(l.list.Items, item)
	return name, nil
}

func (l *listing[T]) bound(format string, n int) error {
	return l.s.fault(fault.TooLarge, l.method+" brought more than "+format+"; %d "+l.member+" were kept", n, len(l.list.Items))
}

// ttl reads ttlMs; absent, negative and odd values count as 0.
func ttl(result json.RawMessage) time.Duration {
	ms, err := strconv.ParseInt(string(mcp.Member(result, "ttlMs")), 10, 64)
	if err != nil || ms <= 0 {
		return 0
	}
	return time.Duration(min(ms, int64(maxTTL/time.Millisecond))) * time.Millisecond
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

// checkURI refuses addresses that can't be shown, or are of no use.
func checkURI(uri string) error {
	if len(uri) > maxURI {
		return fmt.Errorf("its uri is longer than %d bytes", maxURI)
	}
	for _, r := range uri {
		if !unicode.IsPrint(r) {
			return errors.New("its uri has a character that is not shown")
		}
	}
	return nil
}

package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// decode reads the Data of a Record as strictly as if the server had just sent it: one thing that is wrong, and none of
// it counts. What it returns are slices of data.
func decode(data []byte, server Server) (*Entry, error) {
	if len(data) > MaxRecord {
		return nil, tooLarge()
	}
	if err := mcp.Validate(data); err != nil {
		return nil, err
	}
	m := make(map[string]json.RawMessage)
	for key, value := range mcp.Members(data) {
		m[mcp.Text(key)] = value
	}
	if string(m["v"]) != version {
		return nil, errors.New("it was written by another version of Usher")
	}
	if mcp.Text(m["key"]) != server.Key || mcp.Text(m["server"]) != server.Name {
		return nil, errors.New("it belongs to another server")
	}
	e := &Entry{Server: server.Name, Key: server.Key, Revision: mcp.Text(m["revision"]), Instructions: mcp.Text(m["instructions"])}
	var errs [7]error
	e.Era, errs[0] = era(mcp.Text(m["era"]))
	e.Capabilities, errs[1] = object(m, "capabilities")
	e.ServerInfo, errs[2] = object(m, "serverInfo")
	errs[3] = readList(m, e, toolFacet())
	errs[4] = readList(m, e, resourceFacet())
	errs[5] = readList(m, e, templateFacet())
	errs[6] = readList(m, e, promptFacet())
	return e, errors.Join(errs[:]...)
}

func era(name string) (mcp.Era, error) {
	for _, e := range []mcp.Era{mcp.EraUnknown, mcp.Legacy, mcp.Modern} {
		if e.String() == name {
			return e, nil
		}
	}
	return mcp.EraUnknown, errors.New("its era is none")
}

// object returns the member called name, nil if there is none.
func object(members map[string]json.RawMessage, name string) (json.RawMessage, error) {
	raw := members[name]
	if raw != nil && raw[0] != '{' {
		return nil, fmt.Errorf("its %s is no object", name)
	}
	return raw, nil
}

// readList reads one list into e. A list that isn't there was never listed.
func readList[T any](members map[string]json.RawMessage, e *Entry, f facet[T]) error {
	raw, err := object(members, f.member)
	if raw == nil {
		return err
	}
	l := f.list(e)
	listed, err1 := number(raw, "listed")
	ttl, err2 := number(raw, "ttlMs")
	private, err3 := boolean(raw, "private")
	complete, err4 := boolean(raw, "complete")
	items, err5 := readItems(mcp.Member(raw, "items"), f)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return fmt.Errorf("its list of %s: %w", f.kind, err)
	}
	l.Items = items
	l.Listing = Listing{
		Listed: time.UnixMilli(listed).UTC(), TTL: time.Duration(min(ttl, maxTTL.Milliseconds())) * time.Millisecond,
		Private: private, Complete: complete, Cached: true,
	}
	return nil
}

const maxTTL = 365 * 24 * time.Hour

func readItems[T any](array json.RawMessage, f facet[T]) ([]T, error) {
	if len(array) == 0 || array[0] != '[' {
		return nil, errors.New("it has no items")
	}
	var out []T
	names := make(map[string]bool)
	for raw := range mcp.Elements(array) {
		if len(out) == maxItems {
			return nil, fmt.Errorf("it has more than %d items", maxItems)
		}
		item, err := f.parse(raw)
		if err != nil {
			return nil, err
		}
		if err := f.usable(f.name(item)); err != nil {
			return nil, err
		}
		if names[f.name(item)] {
			return nil, errors.New("two items have one name")
		}
		names[f.name(item)] = true
		out = append(out, item)
	}
	return out, nil
}

func number(raw json.RawMessage, name string) (int64, error) {
	n, err := strconv.ParseInt(string(mcp.Member(raw, name)), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is no number", name)
	}
	return n, nil
}

func boolean(raw json.RawMessage, name string) (bool, error) {
	switch string(mcp.Member(raw, name)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%s is neither true nor false", name)
}

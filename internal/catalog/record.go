package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// Record is what a Store keeps of one server.
type Record struct {
	Key    string
	Server string    // its name, for people who look into the Store
	Data   []byte    // JSON; a Store neither looks into it nor changes it
	Saved  time.Time // what wasn't saved for long may be left out; the time of the wall
}

// Store keeps records from one process to the next. It may lose any of them, but changes none. Both methods end soon
// after ctx does.
type Store interface {
	// Load reads the records with these keys, in any order; those that it doesn't have, or that are damaged, aren't in
	// the result. What can be read is returned with an error, too.
	Load(ctx context.Context, keys []string) ([]Record, error)

	// Save writes records in place of those with the same keys, all or none. It must not keep their Data.
	Save(ctx context.Context, records ...Record) error
}

const (
	// MaxRecord bounds the Data of one Record, in bytes: 16 MiB.
	MaxRecord = 16 << 20
	maxItems  = 10_000 // a list
	version   = `1`    // of Data
)

// encode makes the Data of an entry. It fails for what decode wouldn't take.
func encode(e *Entry) ([]byte, error) {
	b := append([]byte(`{"v":`), version...)
	b = appendMember(b, "server", mcp.Quote(e.Server))
	b = appendMember(b, "key", mcp.Quote(e.Key))
	b = appendMember(b, "era", mcp.Quote(e.Era.String()))
	b = appendMember(b, "revision", mcp.Quote(e.Revision))
	b = appendMember(b, "instructions", mcp.Quote(e.Instructions))
	b = appendMember(b, "capabilities", e.Capabilities)
	b = appendMember(b, "serverInfo", e.ServerInfo)
	var err error
	if b, err = appendList(b, e, toolFacet()); err != nil {
		return nil, err
	}
	if b, err = appendList(b, e, resourceFacet()); err != nil {
		return nil, err
	}
	if b, err = appendList(b, e, templateFacet()); err != nil {
		return nil, err
	}
	if b, err = appendList(b, e, promptFacet()); err != nil {
		return nil, err
	}
	if b = append(b, '}'); len(b) > MaxRecord {
		return nil, tooLarge()
	}
	return b, mcp.Validate(b)
}

func tooLarge() error { return fmt.Errorf("it is larger than %d MiB", MaxRecord>>20) }

// appendMember leaves out what is nil.
func appendMember(b []byte, name string, value json.RawMessage) []byte {
	if value == nil {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return append(b, value...)
}

// appendList leaves out a list that was never there.
func appendList[T any](b []byte, e *Entry, f facet[T]) ([]byte, error) {
	l := f.list(e)
	if l.Listed.IsZero() {
		return b, nil
	}
	if len(l.Items) > maxItems {
		return nil, fmt.Errorf("it has more than %d %s", maxItems, f.kind)
	}
	b = append(append(append(b, `,"`...), f.member...), `":{"listed":`...)
	b = strconv.AppendInt(b, l.Listed.UnixMilli(), 10)
	b = strconv.AppendInt(append(b, `,"ttlMs":`...), l.TTL.Milliseconds(), 10)
	b = strconv.AppendBool(append(b, `,"private":`...), l.Private)
	b = strconv.AppendBool(append(b, `,"complete":`...), l.Complete)
	b = append(b, `,"items":[`...)
	for i, item := range l.Items {
		if i > 0 {
			b = append(b, ',')
		}
		raw := f.raw(item)
		if len(raw) == 0 {
			return nil, fmt.Errorf("one of its %s is without its bytes", f.kind)
		}
		if len(b)+len(raw) > MaxRecord {
			return nil, tooLarge()
		}
		b = append(b, raw...)
	}
	return append(b, `]}`...), nil
}

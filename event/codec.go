package event

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// encoding keeps raw parts as they came but for white space between tokens: literal numbers, escapes, order, duplicates.
var encoding = json.JoinOptions(
	json.Deterministic(true),
	jsonv1.OmitEmptyWithLegacySemantics(true), // leaves out false and 0, keeps a raw {}
	jsontext.AllowInvalidUTF8(true),
	jsontext.AllowDuplicateNames(true),
	jsontext.PreserveRawStrings(true),
)

// Encode appends d to dst as one JSON object on one line: fields in the order of the struct, no HTML escapes, invalid
// UTF-8 replaced by U+FFFD, a raw part as it came but for the white space between its tokens. It fails if a raw part
// is not one JSON value; then what dst holds from its old end on is undefined. Of the events of a call only the
// outline of raw parts is looked at, for speed: their maker has parsed them.
func Encode(dst *bytes.Buffer, d Data) error {
	if v := reflect.ValueOf(d); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return errors.New("an event without data")
	}
	if a, ok := d.(appender); ok {
		if b, ok := a.appendJSON(dst.AvailableBuffer()); ok {
			dst.Write(b)
			return nil
		}
	}
	return encodeReflect(dst, d)
}

func encodeReflect(dst *bytes.Buffer, d Data) error {
	start := dst.Len()
	if err := json.MarshalWrite(dst, d, encoding); err != nil {
		return fmt.Errorf("encode %s: %w", d.Type(), err)
	}
	if b := dst.Bytes()[start:]; !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
		dst.Truncate(start)
		dst.Write(b)
	}
	return nil
}

// Decode returns the typed data of e, as a value and not a pointer. A type or a field that this version doesn't know
// is no error: then data is nil, or lacks the field.
func Decode(e Event) (Data, error) {
	t, ok := types()[e.Type]
	if !ok {
		return nil, nil
	}
	v := reflect.New(t)
	if err := json.Unmarshal(e.Data, v.Interface(), jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Type, err)
	}
	return v.Elem().Interface().(Data), nil
}

var types = sync.OnceValue(func() map[string]reflect.Type {
	m := make(map[string]reflect.Type)
	for _, d := range All() {
		m[d.Type()] = reflect.TypeOf(d)
	}
	return m
})

// All returns a zero value of each type of event, in the order of docs/events.md.
func All() []Data {
	return []Data{
		SessionStarted{}, SessionEnded{},
		ToolCallRequested{}, ToolAmbiguous{}, ToolUnknown{},
		PermissionRequested{}, PermissionResolved{},
		CallStarted{}, CallProgress{}, CallCompleted{}, CallFailed{},
		ToolStarted{}, ToolCompleted{}, ToolFailed{},
		ServerConnecting{}, ServerConnected{}, ServerCatalog{}, ServerCrashed{}, ServerRestarting{}, ServerFailed{},
		ServerDisconnected{}, ServerUnavailable{}, ServerShutdown{}, ServerBreaker{}, ServerStray{}, ServerLog{},
		ConfigLoaded{}, ConfigChanged{}, ConfigRejected{},
		ClientConnected{}, ClientDisconnected{},
		GrantChanged{}, TrustChanged{}, Checkpoint{},
	}
}

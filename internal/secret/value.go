// Package secret keeps secret values from being shown: Value is a string that
// never prints, Set finds the values that usher holds in bytes that are about
// to leave.
//
// It does not recognise secrets that nobody told it about (no patterns, no
// entropy), does not find a value that was encoded other than as JSON (base64,
// URL, hex), and does not protect memory.
package secret

import (
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// Mask is what a Value shows instead of itself.
const Mask = "[secret]"

// Value is a string that never prints itself: fmt, encoding/json and log/slog
// all show Mask, the empty Value included. Only Reveal gives the text.
//
// Two places show a Value raw because the standard library asks no method there:
// %v of a struct that has it in an unexported field, and encoding/json where it
// is the key of a map. Keep it in an exported field and never use it as a key.
// The zero value is the empty string. A Value is immutable.
type Value string

var (
	_ fmt.Stringer           = Value("")
	_ fmt.GoStringer         = Value("")
	_ fmt.Formatter          = Value("")
	_ json.Marshaler         = Value("")
	_ encoding.TextMarshaler = Value("")
	_ slog.LogValuer         = Value("")
)

// Reveal returns the text itself, for the one place that hands it on.
func (v Value) Reveal() string { return string(v) }

// String returns Mask.
func (v Value) String() string { return Mask }

// GoString returns Mask.
func (v Value) GoString() string { return Mask }

// Format writes Mask whatever the verb and flags are.
func (v Value) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, Mask) }

// MarshalJSON returns Mask as a JSON string.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(`"` + Mask + `"`), nil }

// MarshalText returns Mask.
func (v Value) MarshalText() ([]byte, error) { return []byte(Mask), nil }

// LogValue returns Mask.
func (v Value) LogValue() slog.Value { return slog.StringValue(Mask) }

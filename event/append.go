package event

import (
	"encoding/json"
	"strconv"
)

// appender is a type that writes its own JSON. The events of a call do, because every call pays for them: they take a
// fifth of what reflection needs. The bytes are the same; a test compares them. It reports false for what needs more
// care, such as a string with an escape; then b is as before up to its length.
type appender interface {
	appendJSON(b []byte) ([]byte, bool)
}

// object writes the members of one JSON object. Strings that are empty are left out where they may be.
type object struct {
	b  []byte
	ok bool
}

func begin(b []byte) object { return object{append(b, '{'), true} }

func (o *object) end() ([]byte, bool) {
	if last := len(o.b) - 1; o.b[last] == ',' {
		o.b[last] = '}'
		return o.b, o.ok
	}
	return append(o.b, '}'), o.ok
}

// name is the member's name with its quotes and colon.
func (o *object) str(name, value string) {
	o.b = append(append(o.b, name...), '"')
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			o.ok = false
			return
		}
	}
	o.b = append(append(o.b, value...), '"', ',')
}

func (o *object) opt(name, value string) {
	if value != "" {
		o.str(name, value)
	}
}

func (o *object) num(name string, value int64) {
	o.b = append(strconv.AppendInt(append(o.b, name...), value, 10), ',')
}

// raw takes a JSON value without the white space between its tokens. Only its outline is looked at: whoever made the
// event has parsed it.
func (o *object) raw(name string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	o.b = append(o.b, name...)
	depth, inString := 0, false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == ' ' && inString:
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			if inString {
				o.ok = false
				return
			}
			continue
		case c >= 0x80 || c < ' ':
			o.ok = false // UTF-8 is looked at with care
			return
		case inString && c == '\\':
			o.ok = o.ok && i+1 < len(value) && value[i+1] >= ' ' && value[i+1] < 0x80
			if !o.ok {
				return
			}
			o.b = append(o.b, c)
			i++
			c = value[i]
		case inString:
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		o.b = append(o.b, c)
	}
	o.ok = o.ok && depth == 0 && !inString
	o.b = append(o.b, ',')
}

func (e ToolCallRequested) appendJSON(b []byte) ([]byte, bool) {
	o := begin(b)
	o.str(`"toolCallId":`, e.ToolCallID)
	o.str(`"tool":`, e.Tool)
	o.raw(`"args":`, e.Args)
	o.opt(`"caller":`, e.Caller)
	return o.end()
}

func (e PermissionRequested) appendJSON(b []byte) ([]byte, bool) {
	o := begin(b)
	o.str(`"toolCallId":`, e.ToolCallID)
	o.opt(`"tool":`, e.Tool)
	o.raw(`"args":`, e.Args)
	o.str(`"riskAtDecision":`, e.RiskAtDecision)
	o.str(`"sourcedFrom":`, e.SourcedFrom)
	return o.end()
}

func (e PermissionResolved) appendJSON(b []byte) ([]byte, bool) {
	o := begin(b)
	o.str(`"toolCallId":`, e.ToolCallID)
	o.str(`"decision":`, e.Decision)
	o.str(`"actor":`, e.Actor)
	o.str(`"sourcedFrom":`, e.SourcedFrom)
	o.opt(`"rule":`, e.Rule)
	o.opt(`"via":`, e.Via)
	o.opt(`"principal":`, e.Principal)
	return o.end()
}

func (e CallStarted) appendJSON(b []byte) ([]byte, bool) {
	o := begin(b)
	o.str(`"server":`, e.Server)
	o.str(`"toolCallId":`, e.ToolCallID)
	o.str(`"method":`, e.Method)
	o.raw(`"args":`, e.Args)
	return o.end()
}

func (e CallCompleted) appendJSON(b []byte) ([]byte, bool) {
	o := begin(b)
	o.str(`"server":`, e.Server)
	o.str(`"toolCallId":`, e.ToolCallID)
	o.num(`"durationMs":`, e.DurationMs)
	return o.end()
}

func (e ToolStarted) appendJSON(b []byte) ([]byte, bool) {
	o := begin(b)
	o.str(`"tool":`, e.Tool)
	o.str(`"toolCallId":`, e.ToolCallID)
	return o.end()
}

func (e ToolCompleted) appendJSON(b []byte) ([]byte, bool) {
	o := begin(b)
	o.ok = len(e.Findings) == 0
	o.str(`"tool":`, e.Tool)
	o.str(`"toolCallId":`, e.ToolCallID)
	o.str(`"resultPreview":`, e.ResultPreview)
	o.num(`"resultSize":`, int64(e.ResultSize))
	if e.IsError {
		o.b = append(o.b, `"isError":true,`...)
	}
	return o.end()
}

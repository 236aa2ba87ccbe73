package event

import (
	"bytes"
	"encoding/json"
	"testing"
)

// H2: what a type writes itself is, byte for byte, what reflection writes.
func TestAppendersWriteTheSame(t *testing.T) {
	strings := []string{"", "plain", `quote " and \ slash`, "line\nend", "é 漢", "\xff\xfe", "\u2028<>&", "~ !"}
	raws := []string{"", `{}`, "{ \"a\" : [1.0, \"x \\\" y\" ,\n null] }", `"\u002F"`, `{"k":"漢"}`, `9007199254740993`, `[]`}
	fast := 0
	for i, s := range strings {
		for j, raw := range raws {
			r := json.RawMessage(raw)
			if raw == "" {
				r = nil
			}
			for _, d := range []Data{
				ToolCallRequested{"tc", s, r, s}, PermissionRequested{"tc", s, r, "read", s},
				PermissionResolved{"tc", "allow", "user", s, s, s, s}, CallStarted{s, "tc", "tools/call", r},
				CallCompleted{s, "tc", int64(i*1000 - j)}, ToolStarted{s, "tc"}, ToolCompleted{s, "tc", s, i * j, i%2 == 0, nil},
			} {
				var want bytes.Buffer
				if err := encodeReflect(&want, d); err != nil {
					t.Fatal(err)
				}
				got, ok := d.(appender).appendJSON([]byte("x"))
				if !ok {
					continue
				}
				fast++
				if string(got) != "x"+want.String() {
					t.Errorf("%T: got %s, want %s", d, got[1:], want.String())
				}
			}
		}
	}
	if fast < 100 {
		t.Errorf("only %d were written without reflection", fast)
	}
}

// A raw part that is no JSON value never gets into the log.
func TestEncodeRefusesBrokenRaw(t *testing.T) {
	for _, raw := range []string{"{", `"x`, "]", `{"a":"` + "\n" + `"}`, `{}}`, "[}{]"} {
		var b bytes.Buffer
		if err := Encode(&b, CallStarted{"s", "tc", "m", json.RawMessage(raw)}); err == nil && bytes.ContainsRune(b.Bytes(), '\n') {
			t.Errorf("%q was written as %s", raw, b.Bytes())
		}
	}
}

func BenchmarkEncodeCall(b *testing.B) {
	args := json.RawMessage(`{"key":"PROJ-123"}`)
	all := []Data{
		ToolCallRequested{"tc_0123456789", "mcp.jira.get_issue", args, "agent"},
		PermissionRequested{"tc_0123456789", "mcp.jira.get_issue", args, "read", "default"},
		PermissionResolved{ToolCallID: "tc_0123456789", Decision: "allow", Actor: "default", SourcedFrom: "default"},
		CallStarted{"jira", "tc_0123456789", "tools/call", json.RawMessage(`{"name":"get_issue","arguments":{"key":"PROJ-123"}}`)},
		ToolStarted{"mcp.jira.get_issue", "tc_0123456789"},
		CallCompleted{"jira", "tc_0123456789", 42},
		ToolCompleted{"mcp.jira.get_issue", "tc_0123456789", "PROJ-123: In Progress", 1240, false, nil},
	}
	var buf bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		buf.Reset()
		for _, d := range all {
			if err := Encode(&buf, d); err != nil {
				b.Fatal(err)
			}
		}
	}
}

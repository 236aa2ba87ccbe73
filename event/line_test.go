package event_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/event"
)

func encode(t testing.TB, d event.Data) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := event.Encode(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		name string
		data event.Data
		want string
	}{
		{"order of the struct, empty left out", event.ToolCompleted{Tool: "t", ToolCallID: "c"},
			`{"tool":"t","toolCallId":"c","resultPreview":"","resultSize":0}`},
		{"no HTML escapes, invalid UTF-8 replaced", event.SessionEnded{Reason: "<&>\u2028\xff"},
			"{\"reason\":\"<&>\u2028\uFFFD\"}"},
		{"raw parts: one line, else byte for byte", event.ToolCallRequested{Args: json.RawMessage("{\"b\" : 1.0,\r\n\"a\":\"\\u0041\\/\",\"a\":9007199254740993}")},
			`{"toolCallId":"","tool":"","args":{"b":1.0,"a":"\u0041\/","a":9007199254740993}}`},
		{"a raw part that is empty but there", event.ToolCallRequested{Args: json.RawMessage("{}")},
			`{"toolCallId":"","tool":"","args":{}}`},
		{"invalid UTF-8 in a raw part", event.ToolCallRequested{Args: json.RawMessage("\"\xff\"")},
			"{\"toolCallId\":\"\",\"tool\":\"\",\"args\":\"\uFFFD\"}"},
		{"a pointer", &event.SessionEnded{Reason: "r"}, `{"reason":"r"}`},
	} {
		if got := string(encode(t, c.data)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	if err := event.Encode(new(bytes.Buffer), event.ToolCallRequested{Args: json.RawMessage("{")}); err == nil {
		t.Error("took a raw part that is no JSON")
	}
}

// H6: the hash is over the bytes before `,"hash"`.
func TestLine(t *testing.T) {
	stamp := []byte("2026-07-28T12:00:00.000001Z")
	first, hash := event.AppendLine(nil, 1, "s_1", stamp, "session.ended", []byte(`{"reason":"r"}`), nil)
	body := `{"seq":1,"session":"s_1","time":"2026-07-28T12:00:00.000001Z","type":"session.ended","data":{"reason":"r"}`
	sum := sha256.Sum256([]byte(body))
	if want := body + `,"hash":"` + hex.EncodeToString(sum[:]) + "\"}\n"; string(first) != want || !strings.Contains(want, string(hash[:])) {
		t.Fatalf("got %swant %s", first, want)
	}
	second, _ := event.AppendLine(nil, 2, "s_1", stamp, "session.ended", []byte(`{}`), hash[:])
	got, err := event.ParseLine(bytes.TrimSuffix(second, []byte("\n")))
	if err != nil {
		t.Fatal(err)
	}
	want := event.Event{Seq: 2, Session: "s_1", Time: time.Date(2026, 7, 28, 12, 0, 0, 1000, time.UTC),
		Type: "session.ended", Data: json.RawMessage("{}"), Prev: string(hash[:]), Hash: got.Hash}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var decoded event.Event
	if err := json.Unmarshal(second, &decoded); err != nil || !cmp.Equal(decoded, want) {
		t.Errorf("by encoding/json: %+v, %v", decoded, err)
	}
	if sum, ok := event.LineHash(bytes.TrimSuffix(second, []byte("\n"))); !ok || string(sum[:]) != got.Hash {
		t.Error("LineHash differs")
	}
}

// ParseLine accepts nothing that AppendLine would not have written.
func FuzzParseLine(f *testing.F) {
	stamp := []byte("2026-07-28T12:00:00.000001Z")
	line, hash := event.AppendLine(nil, 1, "s_1", stamp, "tool.started", []byte(`{"tool":"t","toolCallId":"c"}`), nil)
	f.Add(line[:len(line)-1])
	line, _ = event.AppendLine(nil, 27, "s_1", stamp, "tool.started", []byte(`{"a":[1,{}]}`), hash[:])
	f.Add(line[:len(line)-1])
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := event.ParseLine(b)
		if err != nil {
			return
		}
		again, _ := event.AppendLine(nil, e.Seq, e.Session, []byte(e.Time.Format(event.TimeFormat)), e.Type, e.Data, []byte(e.Prev))
		body, _, _ := bytes.Cut(again, []byte(`,"hash":"`+string(again[len(again)-3-event.HashLen:])))
		if want := string(body) + `,"hash":"` + e.Hash + `"}`; want != string(b) {
			t.Errorf("%s\nwas taken as\n%s", b, want)
		}
	})
}

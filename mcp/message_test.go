package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// O2: what isn't ours to change keeps its bytes: number spellings, escapes, unknown members.
func TestPartsKeepTheirBytes(t *testing.T) {
	const result = `{"a":1.0,"b":9007199254740993,"c":"\u002F", "structuredContent":[1,{"x":null}],"unknown":{}}`
	in := `{ "jsonrpc" : "2.0", "id" : "a\u0062", "result" : ` + result + ` }`
	m, err := Parse([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"jsonrpc":"2.0","id":"a\u0062","result":` + result + `}`
	if got := string(m.AppendTo(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// B1: a message is one line, whatever white space its sender used.
func TestOneLine(t *testing.T) {
	m, err := Parse([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\n\"method\":\"x\",\"params\":{\r\n\"a\":\"b\\n\"\n}}"))
	if err != nil {
		t.Fatal(err)
	}
	got := string(m.AppendTo(nil))
	if strings.ContainsAny(got, "\r\n") || !strings.Contains(got, `"b\n"`) {
		t.Errorf("got %q", got)
	}
}

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for name, in := range map[string]string{
		"duplicate key":       `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`,
		"duplicate at depth":  `{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":{"k":1,"k":2}}}`,
		"escaped duplicate":   `{"jsonrpc":"2.0","id":1,"method":"a","params":{"k":1,"\u006b":2}}`,
		"invalid UTF-8":       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
		"deep":                `{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":` + deep + `}}`,
		"batch":               `[{"jsonrpc":"2.0","id":1,"method":"a"}]`,
		"version":             `{"jsonrpc":"1.0","id":1,"method":"a"}`,
		"no version":          `{"id":1,"method":"a"}`,
		"null id":             `{"jsonrpc":"2.0","id":null,"method":"a"}`,
		"fraction id":         `{"jsonrpc":"2.0","id":1.5,"method":"a"}`,
		"object id":           `{"jsonrpc":"2.0","id":{},"method":"a"}`,
		"request and answer":  `{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`,
		"two answers":         `{"jsonrpc":"2.0","id":1,"error":{},"result":{}}`,
		"nothing":             `{"jsonrpc":"2.0","id":1}`,
		"array params":        `{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}`,
		"two values":          `{"jsonrpc":"2.0","id":1,"method":"a"} {}`,
		"text":                `Server listening on stdio`,
		"number":              `7`,
		"empty":               ``,
		"case variant method": `{"jsonrpc":"2.0","id":1,"METHOD":"a"}`,
	} {
		if m, err := Parse([]byte(in)); err == nil {
			t.Errorf("%s: accepted as %+v", name, m)
		}
	}
}

// An answer that can't be trusted still tells which call it was for.
func TestParseTellsTheIDOfWhatItRefuses(t *testing.T) {
	m, err := Parse([]byte(`{"jsonrpc":"2.0","id":41,"result":{"k":1,"k":2}}`))
	if err == nil || m == nil || m.ID != "41" {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestSetMember(t *testing.T) {
	for _, c := range []struct{ in, name, value, want string }{
		{`{}`, "a", `1`, `{"a":1}`},
		{``, "a", `1`, `{"a":1}`},
		{`{"b":1.0}`, "a", `1`, `{"b":1.0,"a":1}`},
		{`{ "a" : {"x":[1,"]"]} , "b":2}`, "a", `1`, `{ "a" : 1 , "b":2}`},
		{`{"\u0061":7}`, "a", `1`, `{"\u0061":1}`},
		{`{"a":1,"b":2}`, "a", ``, `{"b":2}`},
		{`{"b":2 , "a":1}`, "a", ``, `{"b":2 }`},
		{`{"a":1}`, "a", ``, `{}`},
		{`{"a":1}`, "c", ``, `{"a":1}`},
	} {
		var value json.RawMessage
		if c.value != "" {
			value = json.RawMessage(c.value)
		}
		in := json.RawMessage(c.in)
		if got := string(SetMember(in, c.name, value)); got != c.want {
			t.Errorf("SetMember(%s, %s, %s) = %s, want %s", c.in, c.name, c.value, got, c.want)
		}
		if string(in) != c.in {
			t.Errorf("the input was written to: %s", in)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,2,{"b":"\u2028"}]}}}`,
		`{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{}}`, `[]`, `{"id":1,"id":2}`, `{"a":"\ud800"}`, "{\"\x00\":1}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			return
		}
		again, err := Parse(m.AppendTo(nil))
		if err != nil {
			t.Fatalf("%q was accepted, but what we send for it isn't: %v", b, err)
		}
		if again.ID != m.ID || again.Method != m.Method {
			t.Fatalf("%q changed: %+v, %+v", b, m, again)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	in := []byte(`{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"hello, this is a small result"}],"isError":false}}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := Parse(in); err != nil {
			b.Fatal(err)
		}
	}
}

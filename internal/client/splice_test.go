package client

import (
	"testing"

	"github.com/usher-mcp/usher/mcp"
)

// O2: what isn't ours keeps its bytes, there and back.
func TestBytesPass(t *testing.T) {
	const odd = `"a":1.0,"b":9007199254740993,"c":"\u002F", "d":{ "x" : [1e2,-0,null] }`
	const own = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"usher","version":"0"}`
	for name, c := range map[string]struct{ in, modern, legacy string }{
		"no meta":  {`{"name":"x","arguments":{` + odd + `}}`, `{"_meta":{` + own + `},"name":"x","arguments":{` + odd + `}}`, ""},
		"empty":    {`{ }`, `{"_meta":{` + own + `} }`, ""},
		"none":     {``, `{"_meta":{` + own + `}}`, ""},
		"null":     {`{"_meta":null}`, `{"_meta":{` + own + `}}`, ""},
		"strange":  {`{"_meta":{"z/y":{ ` + odd + `}},"k":1.0}`, `{"_meta":{` + own + `,"z/y":{ ` + odd + `}},"k":1.0}`, ""},
		"hop keys": {`{"a":1,"_meta":{"` + mcp.MetaVersion + `":"1","` + mcp.MetaLogLevel + `":"debug"}}`, `{"a":1,"_meta":{` + own + `}}`, `{"a":1}`},
		"escaped hop key": {`{"_meta":{"progress\u0054oken":"t","traceparent":"00-\u0061"}}`,
			`{"_meta":{` + own + `,"progressToken":2,"traceparent":"00-\u0061"}}`, `{"_meta":{"progressToken":3,"traceparent":"00-\u0061"}}`},
		"token is no token": {`{"_meta":{"progressToken":{},"q":1}}`, `{"_meta":{` + own + `,"q":1}}`, `{"_meta":{"q":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			echo := func(w *wire, m *mcp.Message) {
				got = string(m.Params)
				w.say(m, discoverLine(`{`+odd+`,"resultType" : "complete"}`))
			}
			m := callTool(t, connect(t, newMemory(t, modernServer(echo)), Options{}), c.in, nil)
			if got != c.modern {
				t.Errorf("modern server got\n%s, want\n%s", got, c.modern)
			}
			if string(m.Result) != `{`+odd+`,"resultType" : "complete"}` {
				t.Errorf("the result came as %s", m.Result)
			}
			callTool(t, connect(t, newMemory(t, legacyServer(echo)), Options{}), c.in, nil)
			if want := or(c.legacy, c.in); got != want {
				t.Errorf("legacy server got\n%s, want\n%s", got, want)
			}
		})
	}
}

func TestSpliceDoesNotWriteToItsInput(t *testing.T) {
	in := []byte(`{"_meta":{"progressToken":"a","x":1}}`)
	before := string(in)
	splice(in, []byte(`"k":1`), 7)
	if string(in) != before {
		t.Errorf("now %s", in)
	}
}

func FuzzSplice(f *testing.F) {
	for _, s := range []string{`{}`, ` { "_meta" : {"progressToken":1,"a":[{}]} , "b":1.0}`, `{"\u005fmeta":{"a":1}}`, `{"_meta":[]}`} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, params []byte, modern bool) {
		if mcp.Validate(params) != nil || !isObject(params) {
			return
		}
		var own []byte
		if modern {
			own = []byte(`"` + mcp.MetaVersion + `":"x"`)
		}
		out, token := splice(params, own, 7)
		if err := mcp.Validate(out); err != nil {
			t.Fatalf("%s became %s: %v", params, out, err)
		}
		for key, value := range mcp.Members(params) {
			if name := mcp.Text(key); name != metaKey && string(mcp.Member(out, name)) != string(value) {
				t.Fatalf("%s became %s", params, out)
			}
		}
		for key, value := range mcp.Members(mcp.Member(params, metaKey)) {
			if !isHopKey(key) && string(mcp.Path(out, metaKey, mcp.Text(key))) != string(value) {
				t.Fatalf("%s became %s", params, out)
			}
		}
		if got := mcp.Path(out, metaKey, mcp.MetaProgress); (token != nil) != (string(got) == "7") {
			t.Fatalf("token %s, but %s", token, out)
		}
	})
}

package cli

import (
	"encoding/json"
	"testing"

	"github.com/usher-mcp/usher/config"
)

const schema = `{"type":"object","$defs":{"when":{"type":"integer"}},"properties":{
	"text":{"type":"string"},"n":{"type":"integer"},"f":{"type":"number"},"ok":{"type":"boolean"},
	"list":{"type":"array"},"map":{"type":"object"},"both":{"type":["integer","string"]},
	"maybe":{"type":["integer","null"]},"any":{"anyOf":[{"type":"boolean"},{"$ref":"#/$defs/when"}]},
	"when":{"$ref":"#/$defs/when"},"free":{}}}`

func TestValuesAreTypedByTheSchema(t *testing.T) {
	for _, c := range []struct{ arg, want string }{
		{"text=12", `{"text":"12"}`},
		{`text="quoted"`, `{"text":"\"quoted\""}`},
		{"text=a=b", `{"text":"a=b"}`},
		{"text=", `{"text":""}`},
		{"n=9007199254740993", `{"n":9007199254740993}`},
		{"f=1.50", `{"f":1.50}`},
		{"ok=true", `{"ok":true}`},
		{`list=["a", 1]`, `{"list":["a", 1]}`},
		{`map={"a":{}}`, `{"map":{"a":{}}}`},
		{"both=1", `{"both":"1"}`},
		{"maybe=null", `{"maybe":null}`},
		{"maybe=1", `{"maybe":1}`},
		{"any=false", `{"any":false}`},
		{"any=7", `{"any":7}`},
		{"when=7", `{"when":7}`},
		{"free=1", `{"free":"1"}`},
		{"unknown=1", `{"unknown":"1"}`},
		{"free:=1", `{"free":1}`},
		{`text:="x"`, `{"text":"x"}`},
	} {
		p, err := parsePair(c.arg)
		if err != nil {
			t.Errorf("%s: %v", c.arg, err)
			continue
		}
		got, err := input{pairs: []pair{p}}.arguments(json.RawMessage(schema))
		if err != nil || string(got) != c.want {
			t.Errorf("%s became %s, %v; want %s", c.arg, got, err, c.want)
		}
	}
}

func TestValuesThatDontFit(t *testing.T) {
	for _, c := range []struct{ arg, want string }{
		{"n=x", `n must be an integer, not "x"`},
		{"n=", `n must be an integer, not ""`},
		{"ok=yes", `ok must be a boolean, not "yes"`},
		{"list=a,b", `list must be an array, not "a,b"`},
		{"map=[]", `map must be an object, not "[]"`},
		{"any=x", `any must be a boolean or an integer, not "x"`},
		{`n={"a":1,"a":2}`, `n must be an integer, not "{\"a\":1,\"a\":2}"`},
		{"free:=x", `free is no JSON: x`},
	} {
		p, err := parsePair(c.arg)
		if err == nil {
			_, err = p.typed(json.RawMessage(schema))
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.arg, err, c.want)
		}
	}
}

func TestFieldServer(t *testing.T) {
	for field, want := range map[string]string{
		"mcpServers.fs.args[1]": "fs", "servers.fs": "fs", `mcpServers["my server"].env`: "my server", `mcpServers["a.b"]`: "a.b",
		"permissions.allow[0]": "", "mcpServers": "", "": "", `mcpServers["cut`: "",
	} {
		if got := fieldServer(field); got != want {
			t.Errorf("fieldServer(%s) = %q, want %q", field, got, want)
		}
	}
}

func TestServerOf(t *testing.T) {
	c := &config.Config{Servers: []config.Server{{Name: "fs"}, {Name: "fs.other"}, {Name: "my server"}}}
	for name, want := range map[string]string{
		"mcp.fs.read": "fs", "mcp__fs__read": "fs", "mcp.fs.other.read": "fs.other", "mcp__my_server__x": "my server",
		"mcp.gone.x": "", "read_file": "",
	} {
		if got, local := serverOf(c, name); got != want || local {
			t.Errorf("serverOf(%s) = %q, %v; want %q", name, got, local, want)
		}
	}
	if _, local := serverOf(c, "local.read_file"); !local {
		t.Error("local.read_file is local")
	}
}

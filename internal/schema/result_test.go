package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
)

func checkResult(t *testing.T, schema, result string) string {
	t.Helper()
	err := Lazy(json.RawMessage(schema)).CheckResult(json.RawMessage(result))
	if err == nil {
		return ""
	}
	var v *Violation
	if !errors.As(err, &v) {
		t.Fatalf("%T is no *Violation", err)
	}
	if !strings.HasPrefix(v.Field, "structuredContent") {
		t.Errorf("field %q", v.Field)
	}
	return v.Error()
}

const weather = `{"type":"object","properties":{"t":{"type":"number"},"days":{"type":"array","items":{"type":"object","required":["d"],
 "properties":{"d":{"type":"integer","maximum":9007199254740993}}}}},"required":["t"]}`

// J5: what the server promised is compared with what it sent, and the finding says where they differ.
func TestCheckResult(t *testing.T) {
	const missing = "structuredContent: is missing, though the tool's outputSchema promises it"
	for _, c := range []struct{ schema, result, want string }{
		{weather, `{"content":[],"structuredContent":{"t":1.0}}`, ``},
		{weather, `{"content":[],"structuredContent":{"t":"1"}}`, `structuredContent.t: must be a number, is a string`},
		{weather, `{"content":[],"structuredContent":{}}`, `structuredContent.t: is required`},
		{weather, `{"content":[],"structuredContent":{"t":1,"days":[{"d":1},{}]}}`, `structuredContent.days[1].d: is required`},
		{weather, `{"content":[],"structuredContent":[]}`, `structuredContent: must be an object, is an array`},
		{weather, `{"content":[],"structuredContent":null}`, `structuredContent: must be an object, is null`},
		{weather, `{"content":[]}`, missing},
		{weather, `{"content":[],"isError":true}`, ``},
		{weather, `{"content":[],"isError":true,"structuredContent":7}`, ``},
		{weather, `{"content":[],"resultType":"complete"}`, missing},
		{weather, `{"resultType":"input_required","requestState":"x"}`, ``},
		{weather, `{"resultType":"task","task":{}}`, ``},
		{weather, `{"structuredContent":{"t":1e999999}}`, `structuredContent.t: is a number that is too large or too precise`},
		// exact numbers
		{weather, `{"structuredContent":{"t":1,"days":[{"d":9007199254740993}]}}`, ``},
		{weather, `{"structuredContent":{"t":1,"days":[{"d":9007199254740994}]}}`, `structuredContent.days[0].d: must be at most 9007199254740993`},
		{`{"const":9007199254740993}`, `{"structuredContent":9007199254740993}`, ``},
		{`{"const":9007199254740993}`, `{"structuredContent":9007199254740992}`, `structuredContent: must be 9007199254740993`},
		{`{"enum":[0.1]}`, `{"structuredContent":0.10}`, ``},
		{`{"enum":[0.1]}`, `{"structuredContent":0.1000000000000000055511151231257827}`, `structuredContent: must be 0.1`},
		// 2026-07-28: any JSON value
		{`{"type":"array","items":{"type":"string"}}`, `{"structuredContent":["a",7]}`, `structuredContent[1]: must be a string, is a number`},
		{`{"type":"array","items":{"type":"string"}}`, `{"structuredContent":["a"]}`, ``},
		{`{"type":["string","null"]}`, `{"structuredContent":null}`, ``},
		{`{"type":"string"}`, `{"structuredContent":"x"}`, ``},
		{`{"type":"string"}`, `{"structuredContent":false}`, `structuredContent: must be a string, is a boolean`},
		{`{"type":"object"}`, `{"\u0073tructuredContent":{}}`, ``},
		{`{"properties":{"a b":{"type":"null"}}}`, `{"structuredContent":{"a b":1}}`, `structuredContent["a b"]: must be null, is a number`},
		// no schema, or none that can be used
		{``, `{"content":[]}`, ``},
		{`null`, `{"content":[]}`, ``},
		{`{"type":"strnig"}`, `{"structuredContent":7}`, ``},
		{`{"type":"strnig"}`, `{"content":[]}`, missing},
	} {
		if got := checkResult(t, c.schema, c.result); got != c.want {
			t.Errorf("%s\nresult %s\ngot  %q\nwant %q", c.schema, c.result, got, c.want)
		}
	}
}

// What a server wrote is cut, and can't move a terminal's cursor or turn the direction of a line.
func TestFindingIsOnePrintableLine(t *testing.T) {
	const evil = "\u202e\u200b\x1b2J\u2028"
	quoted, _ := json.Marshal(evil + strings.Repeat("x", 500))
	name := string(quoted)
	deep := strings.Repeat(`{`+name+`:`, 100) + `1` + strings.Repeat(`}`, 100)
	for schema, content := range map[string]string{
		`{"additionalProperties":false}`:                    `{` + name + `:1}`,
		`{"properties":{` + name + `:{"type":"string"}}}`:   `{` + name + `:1}`,
		`{"required":[` + name + `]}`:                       `{}`,
		`{"enum":[` + strings.Repeat(name+`,`, 300) + `1]}`: `{}`,
		`{"const":` + name + `}`:                            `{}`,
		`{"pattern":` + name + `}`:                          `"y"`,
		`{"dependentRequired":{"a":[` + name + `]}}`:        `{"a":1}`,
		`{"$ref":"#/$defs/n","$defs":{"n":{"additionalProperties":{"$ref":"#/$defs/n"},"type":"object"}}}`: deep,
	} {
		got := checkResult(t, schema, `{"structuredContent":`+content+`}`)
		if got == "" || len(got) > 4000 {
			t.Errorf("%s: %d bytes", clip(schema, 60), len(got))
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%s: %q", clip(schema, 60), clip(got, 300))
		}
	}
}

// A value of a result may be a secret.
func TestNoValueOfAResultInFindings(t *testing.T) {
	for _, rule := range []string{`"const":"x"`, `"enum":["x"]`, `"pattern":"^x$"`, `"type":"number"`, `"maxLength":1`} {
		if got := checkResult(t, `{`+rule+`}`, `{"structuredContent":"hunter2-secret"}`); got == "" || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %q", rule, got)
		}
	}
}

// A5: the check of a result has an end, as that of arguments has.
func TestResultBombs(t *testing.T) {
	for name, c := range map[string]struct{ schema, content string }{
		"references": {bomb(30), `[]`},
		"large":      {`{"type":"string"}`, `[` + strings.Repeat(`1,`, maxResult/2) + `1]`},
		"unique":     {`{"uniqueItems":true}`, `[` + strings.Repeat(`[[],[[]],[]],[[[]],[],[]],`, 20_000) + `1]`},
	} {
		start := time.Now()
		if got := checkResult(t, c.schema, `{"structuredContent":`+c.content+`}`); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s took %v", name, d)
		}
	}
}

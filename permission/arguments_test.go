package permission

import (
	"encoding/json"
	"strings"
	"testing"
)

// decides says what one rule in each list would do to a call whose risk is network.
func decides(p *Policy, target Target, args string) Effect {
	return p.Decide(Call{Target: target, Risk: Network, Args: json.RawMessage(args)}).Effect
}

// F3; CVE-2025-54794, CVE-2025-59944: lists that forbid see through what a value can be dressed up as.
func TestArgumentsForbidWidely(t *testing.T) {
	target := Target{"fs", "write_file"}
	for _, c := range []struct {
		pattern, args string
		want          bool
	}{
		{`mcp.fs.write_file(path:/etc/**)`, `{"path":"/etc/passwd"}`, true},
		{`mcp__fs__write_file(path:/etc/**)`, `{"path":"/etc/passwd"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/etc"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/etc/"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/etcetera"}`, false},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/home/etc/x"}`, false},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/ETC/passwd"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"//etc//passwd"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/./etc/passwd"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/home/../etc/passwd"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"../../../etc/passwd"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"\\etc\\passwd"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":" /etc/passwd"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/%65tc/passwd"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/x/%2e%2e/etc/passwd"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"file:///etc/passwd"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"file://host/etc/passwd"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/%2565tc/passwd"}`, true},     // decoded twice
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/%65tc/passwd%"}`, true},      // not all of it is an encoding
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/%65tc/%zz%u/passwd"}`, true}, //
		{`mcp.fs.*(url:https://bad.example/**)`, `{"url":"HTTPS://BAD.example/x"}`, true},
		{`mcp.fs.*(url:https://bad.example/**)`, `{"url":"https://bad.example"}`, true},
		{`mcp.fs.*(url:https://bad.example/**)`, `{"url":"https://bad.example?x"}`, true},
		{`mcp.fs.*(url:https://bad.example/**)`, `{"url":"https://bad.example./x"}`, true},
		{`mcp.fs.*(url:https://bad.example/**)`, `{"url":"https://bad.example:443/x"}`, true},
		{`mcp.fs.*(url:https://bad.example/**)`, `{"url":"https://good.example@bad.example/x"}`, true},
		{`mcp.fs.*(url:https://bad.example/**)`, `{"url":"https:bad.example/x"}`, true},
		{`mcp.fs.*(url:https://bad.example/**)`, `{"url":"https:\\bad.example\x"}`, true},
		{`mcp.fs.*(url:https://bad.example/**)`, `{"url":"ht\ntps://bad\t.example/x"}`, true},
		{`mcp.fs.*(url:https://bad.example/**)`, `{"url":"https://b%61d.example/x"}`, true},
		{`mcp.fs.*(url:https://bad.example:8443/**)`, `{"url":"https://u@bad.example.:8443/x"}`, true},
		{`mcp.fs.*(url:https://bad.example/a/**)`, `{"url":"https://bad.example/b/../a/x?q"}`, true},
		{`mcp.fs.*(url:https://bad.example/**)`, `{"url":"https://bad.example.good.example/x"}`, false},
		{`mcp.fs.*(url:https://bad.example/**)`, `{"url":"https://good.example/?bad.example/"}`, false},
		{`mcp.fs.*(path:/etc/passwd)`, `{"path":"/etc/passwd\u0000.png"}`, true},
		{`mcp.fs.*(path:/etc/passwd)`, `{"path":"/etc/passwd. "}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/e\u200btc/passwd"}`, true},       // zero width
		{`mcp.fs.*(path:/etc/**)`, `{"path":"\uff0f\uff45tc/passwd"}`, true},   // full width
		{`mcp.fs.*(path:/caf\u00e9/**)`, `{"path":"/cafe\u0301/x"}`, false},    // the rule has no escape of this kind
		{"mcp.fs.*(path:/caf\u00e9/**)", `{"path":"/cafe\u0301/x"}`, true},     // decomposed
		{"mcp.fs.*(path:/stra\u00dfe)", `{"path":"/STRASSE"}`, true},           //
		{`mcp.fs.*(path:/.git/**)`, `{"path":"/.g\u0131t/config"}`, true},      // dotless i
		{`mcp.fs.*(path:/.ssh/**)`, `{"path":"/.\u017f\u017fh/id"}`, true},     // long s
		{`mcp.fs.*(path:/etc/**)`, `{"Path":"/etc/passwd"}`, true},             // a server that ignores the case of names
		{`mcp.fs.*(path:/etc/**)`, `{"path":["/tmp/x","/etc/passwd"]}`, true},  //
		{`mcp.fs.*(path:/etc/**)`, `{"edits":[{"path":"/etc/passwd"}]}`, true}, // at any depth
		{`mcp.fs.*(path:/etc/**)`, `{"path":{"file":{"name":"/etc/passwd"}}}`, true},
		{`mcp.fs.*(options.path:/etc/**)`, `{"options":{"path":"/etc/passwd"}}`, true},
		{`mcp.fs.*(options.path:/etc/**)`, `{"options":[{"path":"/etc/passwd"}]}`, true},
		{`mcp.fs.*(options.path:/etc/**)`, `{"options.path":"/etc/passwd"}`, true},
		{`mcp.fs.*(options.path:/etc/**)`, `{"path":"/etc/passwd"}`, false},
		{`mcp.fs.*(path:/etc/*)`, `{"path":"/etc/a/b"}`, true},
		{`mcp.fs.*(path:/etc/**, mode:w)`, `{"path":"/etc/x","mode":"w"}`, true},
		{`mcp.fs.*(path:/etc/**, mode:w)`, `{"path":"/etc/x","mode":"r"}`, false},
		{`mcp.fs.*(path:/etc/**, mode:w)`, `{"path":"/etc/x"}`, false},
		{`mcp.fs.*(n:1000)`, `{"n":1000}`, true},
		{`mcp.fs.*(n:1000)`, `{"n":1e3}`, true},
		{`mcp.fs.*(n:1000)`, `{"n":"1000.0"}`, true},
		{`mcp.fs.*(n:9007199254740993)`, `{"n":9007199254740992}`, false},
		{`mcp.fs.*(n:1000)`, `{"n":1001}`, false},
		{`mcp.fs.*(force:true)`, `{"force":true}`, true},
		{`mcp.fs.*(force:true)`, `{"force":"True"}`, true},
		{`mcp.fs.*(force:true)`, `{"force":false}`, false},
		{`mcp.fs.*(x:null)`, `{"x":null}`, true},
		{`mcp.fs.*(*:**secret**)`, `{"anything":"a Secret b"}`, true},
		{`mcp.fs.*(text:a\,b)`, `{"text":"a,b"}`, true},
		{`mcp.fs.*(x:**)`, `{"x":{}}`, true},
		{`mcp.fs.*(x:**)`, `{}`, false},
		{`mcp.fs.*(*)`, `{}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/x"`, true}, // can't be read
		{`mcp.fs.*(path:/etc/**)`, `["/etc"]`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"path":"/x","path":"/y"}`, true},
		{`mcp.fs.*(path:/etc/**)`, `{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, true},
		{`mcp.fs.*(path:/etc/**)`, ``, false},
		{`mcp.fs.*(path:/etc/**)`, `null`, false},
		{`mcp.fs.*(path)`, `{}`, true}, // the rule can't be read, and so is about every call
		{`mcp.fs.*(path:x`, `{}`, true},
		{`mcp.fs.*()`, `{}`, true},
		{`(path:x)`, `{}`, true},
		{`mcp.jira.*(path:x`, `{}`, false},
		{`MCP.FS.Write_*`, `{}`, true}, // T3: a name in another case
		{"mcp.fs.write\uff3ffile", `{}`, true},
	} {
		if got := decides(&Policy{Deny: []Rule{{Pattern: c.pattern}}}, target, c.args) == Deny; got != c.want {
			t.Errorf("deny %s of %.80s: %v", c.pattern, c.args, got)
		}
		p := &Policy{Ask: []Rule{{Pattern: c.pattern}}, Allow: []Rule{{Pattern: "*"}}}
		if got := decides(p, target, c.args) == Ask; got != c.want {
			t.Errorf("ask %s of %.80s: %v", c.pattern, c.args, got)
		}
	}
}

// F3; CVE-2025-54794, CVE-2025-54795: an allow rule takes a value only as it is written.
func TestArgumentsAllowNarrowly(t *testing.T) {
	target := Target{"fs", "write_file"}
	for _, c := range []struct {
		pattern, args string
		want          bool
	}{
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/a/b/c/d"}`, true},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/a/bc"}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/a/b"}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/a/b/../../etc/passwd"}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/a/b/./c"}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/a/b//c"}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/a/b/..\\..\\x"}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/a/b/.. /x"}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/a/b/%2e%2e/x"}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/a/b/\uff0e\uff0e/x"}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/a/b/\u2025/x"}`, false},
		{`mcp.fs.write_file(path:/a/b/*)`, `{"path":"/a/b/c\uff0fd"}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/A/b/c"}`, false},
		{`mcp.fs.write_file(path:/a/b/*)`, `{"path":"/a/b/c"}`, true},
		{`mcp.fs.write_file(path:/a/b/*)`, `{"path":"/a/b/c/d"}`, false},
		{`mcp.fs.write_file(path:*.go)`, `{"path":"x.go"}`, true},
		{`mcp.fs.write_file(path:*.go)`, `{"path":"../x.go"}`, false},
		{`mcp.fs.write_file(path:**.go)`, `{"path":"a/x.go"}`, true},
		{`mcp.fs.write_file(path:/a/**/*.go)`, `{"path":"/a/b/c/x.go"}`, true},
		{`mcp.fs.write_file(path:/a/b/c)`, `{"path":"/a/b/c"}`, true},
		{`mcp.fs.write_file(path:/a/b/c)`, `{"path":"/a/b/c/"}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":"/a/b/c","Path":"/etc/x"}`, false}, // a server may take either
		{`mcp.fs.write_file(path:/a/b/**)`, `{"Path":"/a/b/c"}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":["/a/b/c","/a/b/d"]}`, true},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":["/a/b/c","/etc/d"]}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":[]}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":[["/a/b/c"]]}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"path":{"x":"/a/b/c"}}`, false},
		{`mcp.fs.write_file(path:/a/b/**)`, `{"edits":[{"path":"/a/b/c"}]}`, false},
		{`mcp.fs.write_file(path:**)`, `{"path":{"x":"/a/../c; rm"}}`, true},
		{`mcp.fs.write_file(o.path:/a/**)`, `{"o":{"path":"/a/b"}}`, true},
		{`mcp.fs.write_file(o.path:/a/**)`, `{"o.path":"/a/b"}`, true},
		{`mcp.fs.write_file(o.path:/a/**)`, `{"o.path":"/a/b","o":{"path":"/a/b"}}`, false},
		{`mcp.fs.write_file(command:git *)`, `{"command":"git status"}`, true},
		{`mcp.fs.write_file(command:git *)`, `{"command":"git status; rm -rf x"}`, false},
		{`mcp.fs.write_file(command:git **)`, `{"command":"git status && rm -rf /x"}`, false},
		{`mcp.fs.write_file(command:git **)`, `{"command":"git status\nrm -rf /x"}`, false},
		{`mcp.fs.write_file(command:git **)`, `{"command":"git log $(rm x)"}`, false},
		{"mcp.fs.write_file(command:git **)", "{\"command\":\"git log `rm x`\"}", false},
		{`mcp.fs.write_file(command:git **)`, `{"command":"git log \uff1b rm x"}`, false},
		{`mcp.fs.write_file(command:git **)`, `{"command":"git log > x"}`, false},
		{`mcp.fs.write_file(args:git*)`, `{"args":["git","-c","x"]}`, false}, // all of argv
		{`mcp.fs.write_file(url:https://docs.example/**)`, `{"url":"https://docs.example/a/b?c=d&e=f"}`, true},
		{`mcp.fs.write_file(url:https://docs.example/**)`, `{"url":"https://docs.example.evil/a"}`, false},
		{`mcp.fs.write_file(url:https://*.example/**)`, `{"url":"https://a.example/b"}`, true},
		{`mcp.fs.write_file(url:https://*.example/**)`, `{"url":"https://evil.com?.example/b"}`, false},
		{`mcp.fs.write_file(url:https://*.example/**)`, `{"url":"https://evil.com#.example/b"}`, false},
		{`mcp.fs.write_file(url:https://*.example/**)`, `{"url":"https://a:b@.example/b"}`, false},
		{`mcp.fs.write_file(url:https://*.example/**)`, `{"url":"https://evil.com/.example/b"}`, false},
		{`mcp.fs.write_file(url:https://docs.example/**)`, `{"url":"HTTPS://docs.example/b"}`, false},
		{`mcp.fs.write_file(n:5)`, `{"n":5}`, true},
		{`mcp.fs.write_file(n:5)`, `{"n":5.0}`, false},
		{`mcp.fs.write_file(n:5*)`, `{"n":57}`, true},
		{`mcp.fs.write_file(n:5*)`, `{"n":5e9}`, false},
		{`mcp.fs.write_file(x:true)`, `{"x":true}`, true},
		{`mcp.fs.write_file(x:true)`, `{"x":"TRUE"}`, false},
		{`mcp.fs.write_file(x:*)`, `{"x":null}`, false},
		{`mcp.fs.write_file(x:*)`, `{"x":"a"}`, true},
		{`mcp.fs.write_file(x:*)`, `{"x":".."}`, false},
		{`mcp.fs.write_file(*:x)`, `{"a":"x"}`, false}, // a name is a name
		{`mcp.fs.write_file(x:a*)`, `{"x":"a` + strings.Repeat("b", maxWild) + `"}`, false},
		{`mcp.fs.write_file(*)`, `{"x":1}`, true},
		{`mcp.fs.write_file(x)`, `{"x":1}`, false}, // can't be read
		{`mcp.fs.write_file(x:y`, `{"x":"y"}`, false},
		{`mcp.fs.write_file(x:y)`, `{"x":"y"`, false},
		{`mcp.fs.write_file(x:y)`, `{"x":"z","x":"y"}`, false},
		{`mcp.FS.write_file`, `{}`, false},
	} {
		if got := decides(&Policy{Allow: []Rule{{Pattern: c.pattern}}}, target, c.args) == Allow; got != c.want {
			t.Errorf("allow %s of %.80s: %v", c.pattern, c.args, got)
		}
	}
}

// CVE-2025-59944: where links can be followed, both lists look at where they lead.
func TestLinksAreFollowed(t *testing.T) {
	links := func(path string) string {
		for from, to := range map[string]string{"/tmp": "/private/tmp", "/tmp/out": "/etc"} {
			if path == from || strings.HasPrefix(path, "/tmp/out") && from == "/tmp/out" {
				return to + strings.TrimPrefix(path, from)
			}
		}
		return "/private" + path
	}
	target := Target{"fs", "write_file"}
	deny := &Policy{Deny: []Rule{{Pattern: "mcp.fs.*(path:/etc/**)"}}, Real: links}
	if got := decides(deny, target, `{"path":"/tmp/out/passwd"}`); got != Deny {
		t.Errorf("by a link into what is denied: %v", got)
	}
	allow := &Policy{Allow: []Rule{{Pattern: "mcp.fs.*(path:/tmp/**)"}}, Real: links}
	if got := decides(allow, target, `{"path":"/tmp/out/passwd"}`); got != Ask {
		t.Errorf("by a link out of what is allowed: %v", got)
	}
	if got := decides(allow, target, `{"path":"/tmp/x"}`); got != Allow {
		t.Errorf("in a folder that is itself behind a link: %v", got)
	}
}

// A tool may be called as a rule with arguments is written.
func TestNameLikeArguments(t *testing.T) {
	p := &Policy{Deny: []Rule{{Pattern: "mcp.x.drop(a:b)"}}}
	if got := decides(p, Target{"x", "drop(a:b)"}, `{}`); got != Deny {
		t.Errorf("%v", got)
	}
	if got := decides(p, Target{"x", "drop"}, `{}`); got != Ask {
		t.Errorf("the tool whose arguments the rule is about: %v", got)
	}
}

func TestArgumentsKeepNumbers(t *testing.T) {
	c := Call{Args: json.RawMessage(`{"n":12345678901234567890123,"list":[1.50]}`)}
	args, err := c.Arguments()
	if err != nil || args["n"] != json.Number("12345678901234567890123") || args["list"].([]any)[0] != json.Number("1.50") {
		t.Errorf("%v, %v", args, err)
	}
}

func TestNumber(t *testing.T) {
	for in, want := range map[string]string{
		"1": "1", "1e3": "1000", "1.0E+3": "1000", "-0": "0", "0.50": "0.5", "5e-2": "0.05", "-1.5": "-1.5", "007": "7",
		"1e99999999999999999999": "", "1e100": "", "x": "", "": "", ".": "", "1e": "1", "12-3": "",
	} {
		if got := number(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

package config

import "testing"

// TestServerURL holds addresses against patterns, as an allow list reads them and as a deny list does. G3, case-260
func TestServerURL(t *testing.T) {
	for _, c := range []struct {
		pattern, url string
		allow, deny  bool
	}{
		{"https://*.corp.example/*", "https://a.corp.example/mcp", true, true},
		{"https://*.corp.example/*", "https://a.b.corp.example/", true, true},
		{"https://*.corp.example/*", "https://corp.example/mcp", false, false},
		{"https://*.corp.example/*", "https://evil.example/a.corp.example/b", false, true}, // * reaches anywhere where it forbids
		{"https://*.corp.example/*", "https://evilcorp.example/", false, false},
		{"https://*.corp.example/*", "http://a.corp.example/", false, false}, // scheme included
		{"https://*.corp.example/*", "https://a.corp.example@evil.example/", false, false},
		{"https://*.corp.example/*", "https://evil.example/?x=.corp.example/", false, true},
		{"https://*.corp.example/*", "https://evil.example/#.corp.example/", false, true},
		{"https://corp.example/*", "https://user:pass@corp.example/mcp", true, true},
		// Host: case, the dot at the end, other letters, addresses.
		{"https://corp.example/*", "https://CORP.Example./mcp", true, true},
		{"HTTPS://Corp.EXAMPLE./*", "https://corp.example/mcp", true, true},
		{"https://corp.example", "https://ｃorp.example/", true, true},
		{"https://bücher.example", "https://xn--bcher-kva.example/", true, true},
		{"https://xn--bcher-kva.example", "https://BÜCHER.example/", true, true},
		{"http://127.0.0.1", "http://127.1/", true, true},
		{"http://127.0.0.1", "http://0x7f000001/", true, true},
		{"http://127.0.0.1", "http://0177.0.0.1/", true, true},
		{"http://127.0.0.1", "http://[::ffff:127.0.0.1]/", true, true},
		{"http://127.0.0.1", "http://127.0.0.11/", false, false},
		{"http://[::1]/*", "http://[0:0:0:0:0:0:0:1]/mcp", true, true},
		{"http://[::1]:8080/*", "http://[::1]:8080/mcp", true, true},
		{"http://[::1]:8080/*", "http://[::1]:8081/mcp", false, false},
		{"http://[fe80::1]/", "http://[fe80::1%25eth0]/", true, true},
		// Ports: the scheme's own one is none.
		{"https://corp.example/*", "https://corp.example:443/mcp", true, true},
		{"https://corp.example:443/*", "https://corp.example/mcp", true, true},
		{"https://corp.example:0443/*", "https://corp.example:00443/mcp", true, true},
		{"https://corp.example/*", "https://corp.example:8443/mcp", false, true},
		{"https://corp.example:8443/*", "https://corp.example/mcp", false, false},
		{"https://corp.example:*/*", "https://corp.example:8443/mcp", true, true},
		{"https://*", "https://corp.example:8443/mcp", true, true},
		{"*://corp.example", "http://corp.example/mcp", true, true},
		{"*", "grpc://corp.example:1/", true, true},
		{"wss://corp.example/*", "wss://corp.example:443/x", true, true},
		{"https://corp.example/*", "wss://corp.example/x", false, true},
		// Path: case counts; none is any; what it may mean counts.
		{"https://corp.example", "https://corp.example/any/path", true, true},
		{"https://corp.example/mcp", "https://corp.example/mcp", true, true},
		{"https://corp.example/mcp", "https://corp.example/MCP", false, false},
		{"https://corp.example/Mcp/*", "https://corp.example/mcp/x", false, false},
		{"https://corp.example/mcp", "https://corp.example/mcp/", false, false},
		{"https://corp.example/mcp", "https://corp.example/mcp?key=1", true, true},
		{"https://corp.example/mcp?key=*", "https://corp.example/mcp?key=1", true, true},
		{"https://corp.example/mcp?key=*", "https://corp.example/mcp", false, false},
		{"https://corp.example/", "https://corp.example", true, true},
		{"https://corp.example/", "https://corp.example/other", false, true},
		{"https://corp.example/public/*", "https://corp.example/public/../admin", false, true},
		{"https://corp.example/public/*", "https://corp.example/public/%2e%2e/admin", false, true},
		{"https://corp.example/public/*", "https://corp.example/public/%252e%252e/admin", false, true},
		{"https://corp.example/public/*", "https://corp.example/public/..%2fadmin", false, true},
		{"https://corp.example/public/*", "https://corp.example/public/..;/admin", false, true},
		{"https://corp.example/public/*", `https://corp.example/public/..%5cadmin`, false, true},
		{"https://corp.example/admin*", "https://corp.example/public/../admin", false, true},
		{"https://corp.example/admin*", "https://corp.example//admin", false, true},
		{"https://corp.example/admin*", "https://corp.example/%61dmin", true, true},
		{"https://corp.example/caf%C3%A9/*", "https://corp.example/café/x", true, true},
		{"https://corp.example/public/*", "https://corp.example/public/a.b/c", true, true},
		{"unix:///run/*", "unix:///run/x.sock:/mcp", true, true},
		{"unix:///run/*", "unix:///run/../tmp/x.sock", false, true},
		{"unix:///run/*", "https://corp.example/run/x", false, false},
	} {
		p, why := parsePattern(c.pattern)
		a, clear := addressOf(c.url)
		if why != "" || !clear {
			t.Errorf("%s, %s: %s %v", c.pattern, c.url, why, clear)
		}
		if allow, deny := p.allows(a), p.denies(a, c.url); allow != c.allow || deny != c.deny {
			t.Errorf("%-34s %-50s allows %v, denies %v", c.pattern, c.url, allow, deny)
		}
	}
}

// TestUnclearURL: an address that nobody can take apart is denied by any pattern, and allowed by none.
func TestUnclearURL(t *testing.T) {
	for _, url := range []string{"https://a b.example/", "https://xn--a.example\u202e/", "no address", "https://[::1/", "https:///path"} {
		s := &Server{Name: "x", URL: url}
		any, _ := parsePattern("https://other.example")
		deny := policy{denied: []policyEntry{{kind: byURL, url: any}}}
		all, _ := parsePattern("*")
		allow := policy{allowedAt: Place{"f", 1}, allowed: []policyEntry{{kind: byURL, url: all}}}
		if deny.decide(s) == "" || allow.decide(s) == "" {
			t.Errorf("%q passes: %q %q", url, deny.decide(s), allow.decide(s))
		}
	}
}

func TestUnusablePatterns(t *testing.T) { // dropped from an allow list, with a reason
	for _, pattern := range []string{
		"corp.example/*", "https://", "https:///x", "https://user@corp.example/", `https://evil.example\.corp.example/`, "https://a b/", "*corp*",
	} {
		if _, why := parsePattern(pattern); why == "" {
			t.Errorf("%q may allow", pattern)
		}
	}
}

func TestServerCommand(t *testing.T) { // every argument, in order
	e := policyEntry{kind: byCommand, argv: []argument{{text: "npx"}, {text: "-y"}, {text: "pkg"}}}
	for _, c := range []struct {
		command     string
		args        []string
		allow, deny bool
	}{
		{"npx", []string{"-y", "pkg"}, true, true},
		{"npx", []string{"pkg", "-y"}, false, false},
		{"npx", []string{"-y", "pkg", "more"}, false, false},
		{"npx", []string{"-y"}, false, false},
		{"npx", []string{"-y", "pkg@evil"}, false, false},
		{"npx", []string{"-y pkg"}, false, false},
		{"/tmp/npx", []string{"-y", "pkg"}, false, true}, // any npx is denied, one is allowed
	} {
		s := &Server{Name: "x", Command: c.command, Args: c.args}
		if allow, deny := e.allows(s, address{}, false), e.denies(s, address{}, false); allow != c.allow || deny != c.deny {
			t.Errorf("%s %q: allows %v, denies %v", c.command, c.args, allow, deny)
		}
	}
}

// FuzzServerURL: what a pattern allows, it would deny as well, for a list that denies reads more widely.
func FuzzServerURL(f *testing.F) {
	for _, s := range [][2]string{
		{"https://*.corp.example/*", "https://a.corp.example/x/../y"}, {"*", "unix:///run/x"}, {"http://[::1]:*/a%2f*", "http://[::1%25x]:1/a/b"}, {"*://*", "ws://127.1:080/;/.."},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, url string) {
		p, why := parsePattern(pattern)
		a, clear := addressOf(url)
		if why == "" && clear && p.allows(a) && !p.denies(a, url) {
			t.Errorf("%q allows %q and would not deny it", pattern, url)
		}
	})
}

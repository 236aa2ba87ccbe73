package config

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/internal/secret"
)

// parseOne returns the one server of an entry in the file /etc/usher/c.json.
func parseOne(t *testing.T, entry string, env ...string) (Server, *Config) {
	t.Helper()
	cfg, err := Parse("/etc/usher/c.json", []byte(`{"servers": {"s": `+entry+`}}`), vars(env...))
	if err != nil || len(cfg.Servers) != 1 || len(cfg.Problems) > 0 {
		t.Fatalf("%s: %v %v", entry, err, cfg)
	}
	return cfg.Servers[0], cfg
}

func TestTransportIsInferred(t *testing.T) { // B10
	for _, tt := range []struct {
		entry, transport, url string
		inferred              bool
	}{
		{`{"command": "x"}`, "stdio", "", true},
		{`{"type": "stdio", "command": "x"}`, "stdio", "", false},
		{`{"url": "https://h/mcp"}`, "http", "https://h/mcp", true},
		{`{"url": "HTTP://h/sse"}`, "http", "HTTP://h/sse", true},
		{`{"url": "ws://h/mcp"}`, "ws", "ws://h/mcp", true},
		{`{"url": "wss://h"}`, "ws", "wss://h", true},
		{`{"url": "grpc://h:1"}`, "grpc", "grpc://h:1", true},
		{`{"url": "grpcs://[::1]:1"}`, "grpc", "grpcs://[::1]:1", true},
		{`{"url": "unix:///run/x.sock"}`, "http", "unix:///run/x.sock", true},
		{`{"url": "unix:///run/x.sock:/mcp?a=1"}`, "http", "unix:///run/x.sock:/mcp?a=1", true},
		{`{"url": "unix:///run/a:/x.sock#/mcp/sub"}`, "http", "unix:///run/a%3A/x.sock:/mcp/sub", true},
		{`{"url": "UNIX:///run/x.sock#/mcp"}`, "http", "unix:///run/x.sock:/mcp", true},
		{`{"type": "grpc", "url": "unix:///run/x.sock"}`, "grpc", "unix:///run/x.sock", false},
		{`{"type": "sse", "url": "unix:///run/x.sock:/sse"}`, "sse", "unix:///run/x.sock:/sse", false},
		{`{"url": "http://h", "type": "http"}`, "http", "http://h", false},
		{`{"url": "http://h", "type": "streamable-http"}`, "http", "http://h", false},
		{`{"url": "http://h", "type": "streamableHttp"}`, "http", "http://h", false},
		{`{"url": "http://h", "type": "streamable_http"}`, "http", "http://h", false},
		{`{"url": "http://h", "type": "sse"}`, "sse", "http://h", false},
		{`{"url": "https://h", "type": "websocket"}`, "ws", "https://h", false},
		{`{"url": "${URL}", "disabled": true}`, "http", "${URL}", true},
		{`{"url": "${URL}", "type": "ws", "disabled": true}`, "ws", "${URL}", false},
	} {
		s, _ := parseOne(t, tt.entry)
		if s.Transport != tt.transport || s.URL != tt.url || s.Inferred != tt.inferred {
			t.Errorf("%s: %s %s, inferred %v", tt.entry, s.Transport, s.URL, s.Inferred)
		}
	}
}

func TestBearerToken(t *testing.T) { // B7, G4
	env := []string{"TOKEN", "tok-12345678", "BEARER", "bEaReR tok-12345678", "EMPTY", ""}
	for entry, want := range map[string]secret.Value{
		`"bearerToken": "${TOKEN}"`:             "Bearer tok-12345678",
		`"bearerToken": "${BEARER}"`:            "Bearer tok-12345678",
		`"bearer_token": "tok-12345678"`:        "Bearer tok-12345678",
		`"bearer_token_env_var": "TOKEN"`:       "Bearer tok-12345678",
		`"bearerTokenEnvVar": "TOKEN"`:          "Bearer tok-12345678",
		`"bearerToken": "${EMPTY}"`:             "",
		`"bearerToken": "${NONE:-}"`:            "",
		`"headers": {"authorization": "Basic"}`: "",
	} {
		s, cfg := parseOne(t, `{"url": "https://h", `+entry+`}`, env...)
		if got := s.Headers["Authorization"]; got != want {
			t.Errorf("%s: %q", entry, got.Reveal())
		}
		if want != "" && !slices.Contains(cfg.Secrets(), "tok-12345678") { // K2
			t.Errorf("%s: the token is no secret", entry)
		}
	}
}

// B7: credentials that others can read on their way are told of; grpc wouldn't send them. To this machine they may go.
func TestPlaintext(t *testing.T) {
	const told = `3: mcpServers.s.url: its credentials go to another machine unencrypted; write `
	for _, m := range []message{
		{"http", one(`{"url": "http://10.0.0.1/mcp", "bearerToken": "t"}`), "a s z", []string{told + "https://"}},
		{"ws", one(`{"url": "ws://h/mcp", "headers": {"X-Api-Key": "t"}}`), "a s z", []string{told + "wss://"}},
		{"ws by http", one(`{"type": "ws", "url": "http://localhost.example", "headers": {"Cookie": "t"}}`), "a s z", []string{told + "https://"}},
		{"grpc", one(`{"url": "grpc://h:1", "headers": {"X-Tenant": "t"}}`), "a z", []string{
			`3: mcpServers.s.url: its headers would go to another machine unencrypted; write grpcs://`}},
	} {
		t.Run(m.name, m.check)
	}
	for _, url := range []string{"http://localhost:1", "ws://127.0.0.1:1", "http://[::1]:1", "grpc://[::ffff:127.0.0.2]:1", "https://h", "wss://h", "grpcs://h:1", "unix:///run/x.sock"} {
		parseOne(t, `{"url": "`+url+`", "bearerToken": "t"}`)
	}
	parseOne(t, `{"url": "http://h", "headers": {"X-Tenant": "t"}}`)
}

func TestTLSFiles(t *testing.T) { // B7, G4
	s, _ := parseOne(t, `{"url": "wss://h", "tls": {"ca": "~/ca.pem", "cert": "${DIR}/c.pem", "key": "keys/k.pem", "serverName": "${NAME}"}}`,
		"HOME", "/home/u", "DIR", "/run/certs", "NAME", "inner.example")
	want := TLS{CA: "/home/u/ca.pem", Cert: "/run/certs/c.pem", Key: "/etc/usher/keys/k.pem", ServerName: "inner.example"}
	if diff := cmp.Diff(want, s.TLS); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s, _ := parseOne(t, `{"url": "http://h", "tls": {"ca": "${NONE:-}"}}`); s.TLS != (TLS{}) {
		t.Errorf("%+v", s.TLS)
	}
	parseOne(t, `{"url": "https://h", "tls": {"cert": "${C}", "key": "k", "serverName": "${N}"}, "bearerToken": "${T}", "disabled": true}`)
}

func TestMessagesForRemoteServers(t *testing.T) { // B7, B10, G1
	const both = `"cert" and "key" belong together; name both files`
	for _, m := range []message{
		{"local", one(`{"type": "local", "command": "x"}`), "a z", []string{`3: mcpServers.s.type: write "stdio"; servers of type local exist only inside a program`}},
		{"sdk", one(`{"type": "sdk"}`), "a z", []string{`3: mcpServers.s.type: servers of this type exist only inside a program; give "command" or "url"`}},
		{"remote", one(`{"type": "remote", "url": "http://x"}`), "a z", []string{`3: mcpServers.s.type: write "http", or leave it out: the url says it`}},
		{"tcp", one(`{"type": "tcp", "url": "tcp://x:1"}`), "a z", []string{
			`3: mcpServers.s.type: tcp is not supported; use stdio, http, sse, ws or grpc`,
			`3: mcpServers.s.url: not an address of a server; write https://host/path, or begin with http, wss, ws, grpcs or grpc, or write unix:///path of a socket`}},
		{"no url", one(`{"type": "websocket", "command": "x"}`), "a z", []string{`3: mcpServers.s: is of type ws and has no "url"; write "url": "wss://…"`}},
		{"grpc, no url", one(`{"type": "grpc"}`), "a z", []string{`3: mcpServers.s: is of type grpc and has no "url"; write "url": "grpcs://…"`}},
		{"both", one(`{"type": "sse", "command": "x", "url": "http://x"}`), "a z", []string{`3: mcpServers.s: has both "command" and "url"; keep one of them`}},
		{"scheme of ws", one(`{"type": "http", "url": "ws://x"}`), "a z", []string{`3: mcpServers.s.url: the address of a server of type http begins with https://, http:// or unix:///`}},
		{"scheme of http", one(`{"type": "grpc", "url": "https://x:1"}`), "a z", []string{`3: mcpServers.s.url: the address of a server of type grpc begins with grpcs://, grpc:// or unix:///`}},
		{"port", one(`{"url": "grpcs://x"}`), "a z", []string{`3: mcpServers.s.url: names no port; write grpcs://host:port`}},
		{"socket", one(`{"url": "unix://run/x"}`), "a z", []string{`3: mcpServers.s.url: not an address of a server; write https://host/path, or begin with http, wss, ws, grpcs or grpc, or write unix:///path of a socket`}},
		{"stdio with the rest", one(`{"command": "x", "headers": {"A": "b"}, "bearerToken": "t", "tls": {"ca": "c"}}`), "a z", []string{
			`3: mcpServers.s.headers: has no meaning for a server of type stdio; remove it`,
			`3: mcpServers.s.bearerToken: has no meaning for a server of type stdio; remove it`,
			`3: mcpServers.s.tls: has no meaning for a server of type stdio; remove it`}},
		{"ws with env", one(`{"url": "ws://x", "env": {"A": "b"}}`), "a z", []string{`3: mcpServers.s.env: has no meaning for a server of type ws; remove it`}},
		{"tls without TLS", one(`{"url": "http://x", "tls": {"ca": "c"}}`), "a z", []string{`3: mcpServers.s.tls: has no meaning for an address that begins with http://; remove it, or correct the address`}},
		{"no pair", one("{\"url\": \"https://x\",\n\"tls\": {\"cert\": \"c\"}}"), "a z", []string{`4: mcpServers.s.tls: ` + both}},
		{"tls", one(`{"url": "https://x", "tls": "yes"}`), "a z", []string{`3: mcpServers.s.tls: expected an object; write {"ca": "…", "cert": "…", "key": "…"}`}},
		{"tls values", one(`{"url": "https://x", "tls": {"ca": 1, "cert": "${NOPE}", "key": "k", "serverName": "h:1"}}`), "a z", []string{
			`3: mcpServers.s.tls.ca: expected a string; write "…"`,
			`3: mcpServers.s.tls.cert: the variable NOPE is not set; set it or write ${NOPE:-default}`,
			`3: mcpServers.s.tls.serverName: expected the name in the server's certificate; write "host.example", without a port`}},
		{"tls fields", one(`{"url": "https://x", "tls": {"caFile": "c", "client_cert": "c", "keyPath": "k", "rejectUnauthorized": false, "servername": "x", "colour": 1}}`), "a s z", []string{
			`3: mcpServers.s.tls.caFile: not read here; write "ca"`, `3: mcpServers.s.tls.client_cert: not read here; write "cert"`,
			`3: mcpServers.s.tls.keyPath: not read here; write "key"`,
			`3: mcpServers.s.tls.rejectUnauthorized: ignored: the server's certificate is always checked; name its authority in "ca"`,
			`3: mcpServers.s.tls.servername: unknown field, did you mean "serverName"? It is ignored`,
			`3: mcpServers.s.tls.colour: unknown field, ignored; known are ca, cert, key, serverName`}},
		{"tls twice", one(`{"url": "https://x", "tls": {"ca": "c", "ca": "d"}}`), "a z", []string{`3: mcpServers.s.tls.ca: this name is here twice; keep one of them`}},
		{"two tokens", one(`{"url": "https://x", "bearerToken": "t", "bearer_token_env_var": "HOME"}`), "a z", []string{
			`3: mcpServers.s.bearer_token_env_var: the token is here twice, in two spellings; keep one of them`}},
		{"token and header", one(`{"url": "https://x", "bearerToken": "t", "headers": {"authorization": "Basic x"}}`), "a z", []string{
			`3: mcpServers.s.bearerToken: headers.Authorization is there too; keep one of them`}},
		{"token", one(`{"url": "https://x", "bearerToken": "a b c"}`), "a z", []string{`3: mcpServers.s.bearerToken: a token has no spaces, line breaks or other such characters; correct it or its variable`}},
		{"no variable", one(`{"url": "https://x", "bearerToken": "${NOPE}"}`), "a z", []string{`3: mcpServers.s.bearerToken: the variable NOPE is not set; set it or write ${NOPE:-default}`}},
		{"name of a variable", one(`{"url": "https://x", "bearer_token_env_var": "HOME:-x"}`), "a z", []string{
			`3: mcpServers.s.bearer_token_env_var: expected the name of a variable, such as "TOKEN"; for the token itself write "bearerToken": "${TOKEN}"`}},
		{"near", one(`{"url": "https://x", "bearerTokn": "t", "TLS": {}, "apiKey": "k"}`), "a s z", []string{
			`3: mcpServers.s.bearerTokn: unknown field, did you mean "bearerToken"? It is ignored`,
			`3: mcpServers.s.TLS: unknown field, did you mean "tls"? It is ignored`,
			`3: mcpServers.s.apiKey: ignored: write "bearerToken": "${VARIABLE}", or the header that the server wants in "headers"`}},
	} {
		t.Run(m.name, m.check)
	}
}

package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/mcp"
)

func and(headers []string, more ...string) []string { return slices.Concat(headers, more) }

// S2, S5, J1: what isn't let in, and how it is told. Taking out any one check of this package fails a row.
func TestBadRequests(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client(w.listen())
	c.hello()
	mList, mHeaders := modern(mcp.MethodListTools, "")
	mCall, callHeaders := modern(mcp.MethodCallTool, `"name":"mcp__up__echo","arguments":{}`)
	and := func(headers []string, more ...string) []string {
		return append(append([]string(nil), headers...), more...)
	}
	noSession := []string{mcp.HeaderSession + ": "}

	for name, row := range map[string]struct {
		body    string
		headers []string
		status  int
		code    string
		id      string
	}{
		"not JSON":             {`{"jsonrpc":`, nil, 400, "-32700", "null"},
		"empty":                {``, nil, 400, "-32700", "null"},
		"duplicate key":        {`{"jsonrpc":"2.0","id":3,"method":"ping","method":"tools/list"}`, nil, 400, "-32700", "3"},
		"deep duplicate":       {`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","arguments":{"x":[{"k":1,"\u006b":2}]}}}`, nil, 400, "-32700", "3"},
		"invalid UTF-8":        {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"\xff\"}", nil, 400, "-32700", "3"},
		"too deep":             {`{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`, nil, 400, "-32700", "3"},
		"batch":                {`[` + listTools + `]`, nil, 400, "-32600", "null"},
		"wrong version":        {`{"jsonrpc":"1.0","id":4,"method":"ping"}`, nil, 400, "-32600", "4"},
		"params is no object":  {`{"jsonrpc":"2.0","id":4,"method":"ping","params":[1]}`, nil, 400, "-32600", "4"},
		"case variant":         {`{"jsonrpc":"2.0","id":4,"METHOD":"ping"}`, nil, 400, "-32600", "4"},
		"text/plain":           {listTools, []string{"Content-Type: text/plain"}, 415, "-32600", "null"},
		"form":                 {listTools, []string{"Content-Type: application/x-www-form-urlencoded"}, 415, "-32600", "null"},
		"no content type":      {listTools, []string{"Content-Type: "}, 415, "-32600", "null"},
		"accepts HTML":         {listTools, []string{"Accept: text/html"}, 406, "-32600", "null"},
		"accepts nothing":      {listTools, []string{"Accept: application/json;q=0, text/event-stream; q=0.0"}, 406, "-32600", "null"},
		"no session":           {listTools, noSession, 400, "-32600", "1"},
		"unknown session":      {listTools, []string{mcp.HeaderSession + ": nonsense"}, 404, "-32600", "null"},
		"unknown revision":     {listTools, []string{"MCP-Protocol-Version: 2025-01-01"}, 400, "-32600", "1"},
		"unknown method":       {`{"jsonrpc":"2.0","id":5,"method":"tools/burn"}`, nil, 200, "-32601", "5"},
		"modern one in legacy": {`{"jsonrpc":"2.0","id":5,"method":"server/discover"}`, nil, 200, "-32601", "5"},
		"unknown tool":         {call("5", "echoo", `{}`), nil, 200, "-32602", "5"},
		"unknown cursor":       {`{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":"x"}}`, nil, 200, "-32602", "5"},
		"answer, no session":   {`{"jsonrpc":"2.0","id":5,"result":{}}`, noSession, 400, "-32600", "5"},

		"no _meta":            {listTools, []string{"MCP-Protocol-Version: 2026-07-28"}, 400, "-32602", "1"},
		"no version":          {strings.Replace(mList, `"io.modelcontextprotocol/protocolVersion":"2026-07-28",`, "", 1), mHeaders, 400, "-32602", "1"},
		"version is a number": {strings.Replace(mList, `"2026-07-28"`, "2026", 1), mHeaders, 400, "-32602", "1"},
		"no capabilities":     {strings.Replace(mList, `"io.modelcontextprotocol/clientCapabilities":{},`, "", 1), mHeaders, 400, "-32602", "1"},
		"no version header":   {mList, mHeaders[1:], 400, "-32020", "1"},
		"no method header":    {mList, mHeaders[:1], 400, "-32020", "1"},
		"no name header":      {mCall, callHeaders[:2], 400, "-32020", "1"},
		"other version":       {mList, and(mHeaders, "MCP-Protocol-Version: 2025-11-25"), 400, "-32020", "1"},
		"other method":        {mList, and(mHeaders, "Mcp-Method: tools/call"), 400, "-32020", "1"},
		"other name":          {mCall, and(callHeaders, "Mcp-Name: mcp__up__odd"), 400, "-32020", "1"},
		"other case":          {mCall, and(callHeaders, "Mcp-Name: MCP__up__echo"), 400, "-32020", "1"},
		"broken base64":       {mCall, and(callHeaders, "Mcp-Name: =?base64?!!?="), 400, "-32020", "1"},
		"unknown version":     {strings.Replace(mList, "2026-07-28", "2099-01-01", 1), and(mHeaders, "MCP-Protocol-Version: 2099-01-01"), 400, "-32022", "1"},
		"removed method":      {strings.Replace(mList, mcp.MethodListTools, mcp.MethodPing, 1), and(mHeaders, "Mcp-Method: ping"), 404, "-32601", "1"},
		"modern initialize":   {strings.Replace(mList, mcp.MethodListTools, mcp.MethodInitialize, 1), and(mHeaders, "Mcp-Method: initialize"), 404, "-32601", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.post(row.body, row.headers...)
			if r.status != row.status || r.code() != row.code || string(mcp.Member([]byte(r.body), "id")) != row.id {
				t.Errorf("%d %s, want %d %s id %s", r.status, r.body, row.status, row.code, row.id)
			}
			if r.header.Get("Access-Control-Allow-Origin") != "" || r.header.Get("Content-Type") != jsonType {
				t.Error(r.header)
			}
		})
	}
	body, headers := strings.Replace(mList, "2026-07-28", "2099-01-01", 1), and(mHeaders, "MCP-Protocol-Version: 2099-01-01")
	if r := c.post(body, headers...); !strings.Contains(r.body, `"data":{"supported":["2026-07-28"],"requested":"2099-01-01"}`) {
		t.Error(r.body)
	}
}

// What is unusual but right is let in.
func TestTolerated(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client(w.listen())
	c.hello()
	mCall, callHeaders := modern(mcp.MethodCallTool, `"name":"mcp__up__echo","arguments":{}`)
	naive := strings.Replace(mCall, "mcp__up__echo", "mcp.up.naïve", 1)
	for name, row := range map[string]struct {
		body    string
		headers []string
		status  int
	}{
		"charset":              {listTools, []string{"Content-Type: Application/JSON; charset=utf-8"}, 200},
		"no Accept":            {listTools, []string{"Accept: "}, 200},
		"any Accept":           {listTools, []string{"Accept: */*"}, 200},
		"JSON only":            {listTools, []string{"Accept: application/json"}, 200},
		"no revision":          {listTools, []string{"MCP-Protocol-Version: "}, 200},
		"first cursor":         {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}`, nil, 200},
		"answer":               {`{"jsonrpc":"2.0","id":5,"result":{}}`, nil, 202},
		"notification":         {`{"jsonrpc":"2.0","method":"notifications/anything"}`, nil, 202},
		"base64 name":          {naive, and(callHeaders, "Mcp-Name: =?base64?bWNwLnVwLm5hw692ZQ==?="), 200},
		"session id in modern": {mCall, and(callHeaders, mcp.HeaderSession+": nonsense"), 200},
		"modern notification":  {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, []string{"MCP-Protocol-Version: 2026-07-28"}, 202},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.post(row.body, row.headers...)
			if r.status != row.status || r.code() != "" {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
	r := c.post(listTools, "Accept: text/event-stream")
	if r.header.Get("Content-Type") != streamType || !strings.HasPrefix(r.body, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":") {
		t.Errorf("a client that takes streams only: %v %.100s", r.header, r.body)
	}
}

// J1: a body is bounded, with and without a Content-Length.
func TestTooLong(t *testing.T) {
	w := newWorld(t, Options{})
	url := w.listen()
	for name, body := range map[string]io.Reader{
		"length":  strings.NewReader(strings.Repeat(" ", mcp.MaxMessage+1)),
		"chunked": io.MultiReader(strings.NewReader(strings.Repeat(" ", mcp.MaxMessage+1))),
	} {
		req, _ := http.NewRequest(http.MethodPost, url, body)
		req.Header.Set("Content-Type", jsonType)
		r, err := w.client(url).do(req)
		if err != nil || r.status != http.StatusRequestEntityTooLarge || r.code() != "-32600" {
			t.Errorf("%s: %v %d %.200s", name, err, r.status, r.body)
		}
	}
}

// S2: DNS rebinding, requests across origins, and methods without effect.
func TestOrigins(t *testing.T) {
	w := newWorld(t, Options{AllowedHosts: []string{"box", "named:99"}, Origins: []string{"https://ide.example"}})
	url := w.listen()
	c := w.client(url)
	c.hello()
	_, port, _ := net.SplitHostPort(strings.Split(url, "/")[2])
	for header, want := range map[string]int{
		"Host: 127.0.0.1:" + port:               200,
		"Host: LocalHost:" + port:               200,
		"Host: [::1]:" + port:                   200,
		"Host: [::ffff:127.0.0.1]:" + port:      200,
		"Host: box":                             200,
		"Host: box:1":                           200,
		"Host: named:99":                        200,
		"Host: named:98":                        403,
		"Host: localhost":                       403, // port 80
		"Host: localhost:1":                     403,
		"Host: evil.example:" + port:            403,
		"Host: localhost.evil.example:" + port:  403,
		"Host: 127.0.0.1.evil.example:" + port:  403,
		"Host: 0.0.0.0:" + port:                 403,
		"Host: 192.168.1.2:" + port:             403,
		"Origin: http://localhost:6274":         200,
		"Origin: http://127.0.0.1":              200,
		"Origin: https://[::1]:3":               200,
		"Origin: https://ide.example":           200,
		"Origin: https://ide.example.evil":      403,
		"Origin: http://evil.example":           403,
		"Origin: http://localhost.evil.example": 403,
		"Origin: http://localhost@evil.example": 403,
		"Origin: http://evil.example/localhost": 403,
		"Origin: null":                          403,
		"Origin: file://localhost":              403,
		"Origin: chrome-extension://abc":        403,
		"Sec-Fetch-Site: same-origin":           200,
		"Sec-Fetch-Site: none":                  200,
		"Sec-Fetch-Site: cross-site":            403,
	} {
		if r := c.post(listTools, header); r.status != want {
			t.Errorf("%s: %d, want %d", header, r.status, want)
		}
		if r := c.delete(header, mcp.HeaderSession+": nonsense"); want == 403 && r.status != 403 {
			t.Errorf("DELETE %s: %d", header, r.status)
		}
	}
}

// B5: whoever reaches a socket may call it what they like; a page's origin counts there too.
func TestOriginsAtSocket(t *testing.T) {
	g := newWorld(t, Options{}).Gateway
	for header, want := range map[string]bool{"Host: usher": true, "Host: x.sock": true, "Host: evil.example:80": true, "Origin: http://evil.example": false} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.UnixAddr{Name: "/run/x.sock", Net: "unix"}))
		name, value, _ := strings.Cut(header, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
		if refusal := g.checkOrigin(r); (refusal == nil) != want {
			t.Errorf("%s: %+v", header, refusal)
		}
	}
}

func TestMethods(t *testing.T) {
	w := newWorld(t, Options{})
	url := w.listen()
	for _, method := range []string{"GET", "HEAD", "PUT", "OPTIONS", "PATCH"} {
		req, _ := http.NewRequest(method, url, nil)
		req.Header.Set("Origin", "http://localhost:1")
		req.Header.Set("Access-Control-Request-Method", "POST")
		r, err := w.client(url).do(req)
		if err != nil || r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") != "POST, DELETE" {
			t.Errorf("%s: %v %d %v", method, err, r.status, r.header)
		}
		for name := range r.header {
			if strings.HasPrefix(name, "Access-Control") {
				t.Errorf("%s: %s", method, name)
			}
		}
	}
	c := w.client(url)
	if r := c.delete(); r.status != http.StatusBadRequest {
		t.Error(r)
	}
	if r := c.delete(mcp.HeaderSession + ": nonsense"); r.status != http.StatusNotFound {
		t.Error(r)
	}
	if r := c.delete("MCP-Protocol-Version: 2026-07-28"); r.status != http.StatusMethodNotAllowed {
		t.Error(r)
	}
}

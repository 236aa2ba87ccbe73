package client

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

func errorLine(code, data string) string {
	if data != "" {
		data = `,"data":` + data
	}
	return `{"jsonrpc":"2.0","id":ID,"error":{"code":` + code + `,"message":"no"` + data + `}}`
}

func discoverLine(result string) string { return `{"jsonrpc":"2.0","id":ID,"result":` + result + `}` }

// B8, case-068, case-069, case-071, case-072, case-078: whatever is no modern answer leads to initialize.
func TestEra(t *testing.T) {
	const d, i = mcp.MethodDiscover, mcp.MethodInitialize
	for name, c := range map[string]struct {
		lines    map[string]string
		remember mcp.Era
		want     mcp.Era // EraUnknown: Connect fails
		why      string  // part of Why, or of the error
		connects int
	}{
		"modern":               {lines: map[string]string{d: discovered, i: "die"}, want: mcp.Modern, why: "was answered"},
		"modern, remembered":   {lines: map[string]string{d: discovered, i: "die"}, remember: mcp.Modern, want: mcp.Modern},
		"no resultType":        {lines: map[string]string{d: discoverLine(`{"supportedVersions":["2026-07-28"]}`)}, want: mcp.Modern},
		"dies on the probe":    {lines: map[string]string{d: "die", i: initialized}, want: mcp.Legacy, why: "exit status 3", connects: 2},
		"dies, remembered":     {lines: map[string]string{d: "die", i: initialized}, remember: mcp.Legacy, want: mcp.Legacy, why: "remembered"},
		"dies on everything":   {lines: map[string]string{d: "die", i: "die"}, why: "oh no", connects: 2},
		"silent":               {lines: map[string]string{d: "", i: initialized}, want: mcp.Legacy, why: "unanswered for 4s"},
		"silent, remembered":   {lines: map[string]string{d: "", i: initialized}, remember: mcp.Modern, want: mcp.Legacy},
		"code 0":               {lines: map[string]string{d: errorLine("0", ""), i: initialized}, want: mcp.Legacy, why: "error 0"},
		"-32601":               {lines: map[string]string{d: errorLine("-32601", ""), i: initialized}, want: mcp.Legacy},
		"-32602":               {lines: map[string]string{d: errorLine("-32602", ""), i: initialized}, want: mcp.Legacy},
		"-32000":               {lines: map[string]string{d: errorLine("-32000", ""), i: initialized}, want: mcp.Legacy},
		"error is no object":   {lines: map[string]string{d: `{"jsonrpc":"2.0","id":ID,"error":"no"}`, i: initialized}, want: mcp.Legacy},
		"unreadable answer":    {lines: map[string]string{d: discoverLine(`{"a":1,"a":2}`), i: initialized}, want: mcp.Legacy, why: "can't be read"},
		"claims modern":        {lines: map[string]string{d: discoverLine(`{"protocolVersion":"2026-07-28"}`), i: initialized}, want: mcp.Legacy, why: "no DiscoverResult"},
		"wrong resultType":     {lines: map[string]string{d: discoverLine(`{"resultType":"task","supportedVersions":["2026-07-28"]}`), i: initialized}, want: mcp.Legacy},
		"lists only legacy":    {lines: map[string]string{d: discoverLine(`{"supportedVersions":["2025-06-18"]}`), i: initialized}, want: mcp.Legacy, why: "only legacy"},
		"lists only unknown":   {lines: map[string]string{d: discoverLine(`{"supportedVersions":["2031-01-01"]}`), i: initialized}, why: "speaks MCP 2031-01-01"},
		"-32022 only legacy":   {lines: map[string]string{d: errorLine("-32022", `{"supported":["2025-11-25"]}`), i: initialized}, want: mcp.Legacy},
		"-32022 only unknown":  {lines: map[string]string{d: errorLine("-32022", `{"supported":["2031-01-01"]}`), i: initialized}, why: "speaks MCP 2031-01-01"},
		"-32022 for ever":      {lines: map[string]string{d: errorLine("-32022", `{"supported":["2026-07-28"]}`), i: initialized}, why: "error -32022"},
		"-32021":               {lines: map[string]string{d: errorLine("-32021", `{"requiredCapabilities":{}}`), i: initialized}, why: "error -32021"},
		"-32004, no data":      {lines: map[string]string{d: errorLine("-32004", ""), i: initialized}, want: mcp.Legacy},
		"-32004, data":         {lines: map[string]string{d: errorLine("-32004", `{"supported":["2031-01-01"]}`), i: initialized}, why: "speaks MCP 2031-01-01"},
		"-32003, no data":      {lines: map[string]string{d: errorLine("-32003", ""), i: initialized}, want: mcp.Legacy},
		"refuses both":         {lines: map[string]string{d: unknownMethod, i: unknownMethod}, why: "no such method"},
		"now modern":           {lines: map[string]string{d: discovered, i: unknownMethod}, remember: mcp.Legacy, want: mcp.Modern, why: "refused initialize"},
		"unknown old revision": {lines: map[string]string{d: unknownMethod, i: discoverLine(`{"protocolVersion":"2024-10-07"}`)}, why: "speaks MCP 2024-10-07"},
		"oldest revision":      {lines: map[string]string{d: unknownMethod, i: discoverLine(`{"protocolVersion":"2024-11-05","capabilities":{}}`)}, want: mcp.Legacy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := newMemory(t, server(c.lines, nil))
				s, err := Connect(t.Context(), tr, Options{Name: "x", Era: c.remember})
				if got := int(tr.connects.Load()); got != max(c.connects, 1) {
					t.Errorf("%d connections, want %d", got, max(c.connects, 1))
				}
				if c.want == mcp.EraUnknown {
					if name == "dies on everything" {
						wantKind(t, err, fault.Unavailable) // no call was lost
					}
					if err == nil || !strings.Contains(err.Error(), c.why) {
						t.Errorf("got %v, want an error that says %q", err, c.why)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if i := s.Info(); i.Era != c.want || !strings.Contains(i.Why, c.why) {
					t.Errorf("got %v because %q, want %v because %q", i.Era, i.Why, c.want, c.why)
				}
			})
		})
	}
}

// B8: -32022 that names our revision is followed by one more try.
func TestProbeIsRepeatedOnce(t *testing.T) {
	probes := 0
	s := connect(t, newMemory(t, server(nil, func(w *wire, m *mcp.Message) {
		if probes++; probes == 1 {
			w.say(m, errorLine("-32022", `{"supported":["2026-07-28"],"requested":"2026-07-28"}`))
			return
		}
		w.say(m, discovered)
	})), Options{})
	if s.Info().Era != mcp.Modern || probes != 2 {
		t.Errorf("%v after %d probes", s.Info().Era, probes)
	}
}

// The answer to the probe that comes too late is dropped; the server stays legacy.
func TestLateProbeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var probe *mcp.Message
		s := connect(t, newMemory(t, server(nil, func(w *wire, m *mcp.Message) {
			switch m.Method {
			case mcp.MethodDiscover:
				probe = m
			case mcp.MethodInitialize:
				w.say(probe, discovered)
				w.say(m, initialized)
			}
		})), Options{})
		if s.Info().Era != mcp.Legacy || s.Strays() != 1 {
			t.Errorf("%v, %d strays", s.Info().Era, s.Strays())
		}
	})
}

// A modern server that was too slow for the probe is found by the second one.
func TestSlowModernServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		s := connect(t, newMemory(t, server(map[string]string{mcp.MethodInitialize: unknownMethod}, func(w *wire, m *mcp.Message) {
			if first {
				first = false
				return
			}
			w.say(m, discovered)
		})), Options{})
		if s.Info().Era != mcp.Modern {
			t.Errorf("got %+v", s.Info())
		}
	})
}

// A server that answers the probe with an error and then ends gets a second chance, too.
func TestDiesAfterAnsweringTheProbe(t *testing.T) {
	tr := newMemory(t, func(w *wire) {
		if m := w.next(); m != nil {
			w.say(m, unknownMethod)
		}
	}, legacyServer(nil))
	if s := connect(t, tr, Options{}); s.Info().Era != mcp.Legacy || tr.connects.Load() != 2 {
		t.Errorf("%+v, %d connections", s.Info(), tr.connects.Load())
	}
}

// case-193: the handshake is bounded by its context, and initialize is never cancelled.
func TestConnectEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var seen []string
		tr := newMemory(t, server(nil, func(_ *wire, m *mcp.Message) { seen = append(seen, m.Method) }))
		_, err := Connect(ctx, tr, Options{Name: "x"})
		wantKind(t, err, fault.Timeout)
		tr.running.Wait()
		if got := strings.Join(seen, " "); got != "server/discover initialize" {
			t.Errorf("the server saw %s", got)
		}
	})
}

// C1, E4: what the handshake sends and what it tells.
func TestHandshakes(t *testing.T) {
	var seen []string
	note := func(w *wire) {
		for m := w.next(); m != nil; m = w.next() {
			seen = append(seen, m.Method+" "+string(m.Params))
			switch m.Method {
			case mcp.MethodDiscover:
				w.say(m, unknownMethod)
			case mcp.MethodInitialize:
				long := `"` + strings.Repeat("ä", 3000) + `"`
				w.say(m, strings.Replace(initialized, `"be kind"`, long, 1))
			}
		}
	}
	tr := newMemory(t, note)
	s := connect(t, tr, Options{Info: mcp.Implementation{Name: "u", Version: "1"}})
	i := s.Info()
	if i.Revision != "2025-11-25" || string(i.ServerInfo) != `{"name":"l"}` || string(i.Capabilities) != `{"tools":{}}` {
		t.Errorf("got %+v", i)
	}
	if r := []rune(i.Instructions); len(r) != 2048 || !strings.HasSuffix(i.Instructions, "… [cut by usher]") {
		t.Errorf("instructions of %d characters that end in %q", len(r), i.Instructions[len(i.Instructions)-20:])
	}
	_ = s.Close()
	tr.running.Wait()
	want := []string{
		`server/discover {"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"u","version":"1"}}}`,
		`initialize {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"u","version":"1"}}`,
		`notifications/initialized `,
	}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("the server saw\n%s", strings.Join(seen, "\n"))
	}
}

package faithful

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// item is one call: what the caller says and what the server answers, as raw JSON.
type item struct {
	index    int
	params   string
	token    string // the caller's progress token, raw; empty: it wants no progress
	progress string // params of a notification; %s is the token
	result   string // empty: failure is the answer
	failure  string
	outer    string // the answer, with %[1]s for the id and %[2]s for its part
}

// setting is what the message of an item depends on.
type setting struct {
	tool        string // as the caller names it
	modernAgent bool   // params carry the caller's own hop keys
	ownTokens   bool   // no two calls have the same progress token
}

// maker generates JSON that is odd in every way that a reader might be tempted to straighten.
type maker struct{ r *rand.Rand }

// maxProgress keeps below what the gateway queues for a client that doesn't read: more is dropped, as it should be.
const maxProgress = 32 << 10

func makeItem(seed uint64, index int, s setting) *item {
	m := &maker{rand.New(rand.NewPCG(seed, uint64(index)))}
	it := &item{index: index}
	if m.oneIn(3) {
		if it.token = m.pick(`"t\u002F1"`, `7`, `9007199254740993`, `"ü"`); s.ownTokens {
			it.token = fmt.Sprintf(m.pick(`"t\u002F%d"`, `%d`, `9007199254740993%d`, `"ü%d"`), index)
		}
	}
	it.params = m.params(index, it.token, s)
	for it.progress == "" || len(it.progress) > maxProgress {
		it.progress = m.object(3, `"progress":1.50`, `"progressToken":%s`)
	}
	if m.oneIn(8) {
		it.failure = m.object(3, `"code":-31999`, `"message":`+m.string())
	} else {
		it.result = m.result()
	}
	it.outer = m.envelope(it.result != "")
	return it
}

func (m *maker) oneIn(n int) bool { return m.r.IntN(n) == 0 }

func (m *maker) pick(all ...string) string { return all[m.r.IntN(len(all))] }

// params has "item", by which the server knows what to answer.
func (m *maker) params(index int, token string, s setting) string {
	own := []string{`"name":` + s.tool, fmt.Sprintf(`"item":%d`, index), `"arguments":` + m.object(6)}
	if meta := m.meta(token, s.modernAgent); meta != "" {
		own = append(own, m.pick(`"_meta":`, `"_m\u0065ta":`, `"_meta" : `)+meta)
	}
	return m.object(4, own...)
}

// meta is empty where there is none.
func (m *maker) meta(token string, modern bool) string {
	var own []string
	if token != "" {
		own = append(own, m.pick(`"progressToken":`, `"progressTok\u0065n":`)+token)
	}
	if modern {
		own = append(own, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`,
			`"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol\/clientInfo":{"name":"agent","version":"1.0"}`)
	} else if m.oneIn(6) {
		own = append(own, `"io.modelcontextprotocol/clientInfo":{"name":"of another hop"}`)
	}
	switch {
	case m.oneIn(3):
		own = append(own, `"example.com/k":`+m.value(3), `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`)
	case len(own) == 0 && m.oneIn(2):
		return ""
	case m.oneIn(2):
		return "{" + m.space() + m.join(own) + "}" // nothing but what belongs to the hop
	}
	return m.object(3, own...)
}

func (m *maker) result() string {
	var own []string
	for _, member := range []string{
		`"content":` + m.content(), `"structuredContent":` + m.structured(), `"isError":` + m.pick("true", "false"),
		`"_meta":` + m.object(3, `"example.com/r":`+m.value(2)), `"resultType":"complete"`,
	} {
		if !m.oneIn(3) {
			own = append(own, member)
		}
	}
	return m.object(4, own...)
}

func (m *maker) structured() string {
	return m.pick(m.object(6), "["+m.value(4)+","+m.value(4)+"]", m.number(), m.string(), "null", "[]", "true", m.deep())
}

func (m *maker) content() string {
	var items []string
	for range m.r.IntN(4) {
		items = append(items, m.object(2, m.pick(
			`"type":"text","text":`+m.string(), `"type":"image","data":"iVBORw0KGgo=","mimeType":"image\/png"`,
			`"type":"resource_link","uri":"file:///a%20b","name":`+m.string(), `"type":"audio","data":"AA==","mimeType":"audio/wav"`,
			`"type":"resource","resource":`+m.object(2, `"uri":"x:\u002F","text":`+m.string()), `"type":"x/unknown"`,
		)))
	}
	return "[" + m.space() + m.join(items) + "]"
}

// envelope is how the server writes its answer: members in any order, and one that nobody knows.
func (m *maker) envelope(ok bool) string {
	part := `"error":%[2]s`
	if ok {
		part = `"result":%[2]s`
	}
	own := []string{`"jsonrpc":"2.0"`, `"id":%[1]s`, part}
	if m.oneIn(2) {
		own = append(own, `"x-unknown":{"a":[1.0]}`)
	}
	m.r.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
	return "{" + m.space() + m.join(own) + m.space() + "}"
}

// object has the given members and some that nobody knows, in any order.
func (m *maker) object(depth int, own ...string) string {
	taken := make(map[string]bool)
	if depth > 0 {
		for range m.r.IntN(4) {
			key := m.key()
			var name string
			if json.Unmarshal([]byte(key), &name) == nil && !taken[name] {
				taken[name] = true
				own = append(own, key+m.space()+":"+m.space()+m.value(depth-1))
			}
		}
	}
	own = slices.Clone(own)
	m.r.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
	return "{" + m.space() + m.join(own) + m.space() + "}"
}

func (m *maker) join(parts []string) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(m.space() + "," + m.space())
		}
		b.WriteString(p)
	}
	return b.String()
}

// key yields no name that means something to MCP.
func (m *maker) key() string {
	return m.pick(`""`, `" "`, `"a"`, `"A"`, `"\u0061\u002F"`, `"ключ"`, `"😀"`, `"\ud83d\ude01"`, `"$ref"`, `"__proto__"`, `"id"`,
		`"jsonrpc"`, `"a.b/c"`, `"\u0000"`, `"1"`, `"\""`, `"data: "`, `"_"`, fmt.Sprintf(`"k%d"`, m.r.IntN(1000)))
}

func (m *maker) value(depth int) string {
	switch n := m.r.IntN(12); {
	case n < 3 || depth <= 0:
		return m.pick(m.number(), m.string(), "true", "false", "null", "{}", "[]", "[ ]")
	case n < 5:
		return m.number()
	case n < 8:
		return m.string()
	case n == 8 && m.oneIn(8):
		return m.deep()
	case n < 10:
		return m.object(depth - 1)
	}
	var parts []string
	for range m.r.IntN(4) {
		parts = append(parts, m.value(depth-1))
	}
	return "[" + m.space() + m.join(parts) + m.space() + "]"
}

// deep nests up to 100 levels.
func (m *maker) deep() string {
	n := 1 + m.r.IntN(100)
	if m.oneIn(2) {
		return strings.Repeat("[", n) + m.number() + strings.Repeat("]", n)
	}
	return strings.Repeat(`{"":`, n) + m.string() + strings.Repeat("}", n)
}

func (m *maker) number() string {
	return m.pick("0", "-0", "-0.0", "1.0", "1.50", "1e5", "1E+5", "1e-7", "9007199254740993", "-9007199254740993",
		"18446744073709551616", "123456789012345678901234567890.0123456789", "1e308", "-1.7976931348623157E308", "5e-324",
		"0.1000000000000000055511151231257827", "0e0", "1e400", "-1E-400")
}

func (m *maker) string() string {
	var b strings.Builder
	for range m.r.IntN(6) {
		b.WriteString(m.pick(`a`, `\u002F`, `\/`, `/`, `\ud83d\ude00`, "😀", `\u00e9`, "é", "e\u0301", `\u0000`, `\n\n`, `\r`, `\t`, `\"`, `\\`,
			`<>&'`, `\u003c`, "\u2028", `\u2029`, "\x7f", `data: `, "\u00a0", `%20`, "\ufeff", `\uFFFD`, "\ufffd", `\b\f`, "  "))
	}
	if m.oneIn(60) {
		b.WriteString(strings.Repeat(m.pick("x", "é", `\u002F`), 1+m.r.IntN(60_000)))
	}
	return `"` + b.String() + `"`
}

// space is white space that JSON allows between tokens.
func (m *maker) space() string {
	if !m.oneIn(4) {
		return ""
	}
	return m.pick(" ", "  ", "\t", "\n", "\r\n", "\r", " \n\t ")
}

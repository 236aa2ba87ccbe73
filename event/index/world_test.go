package index_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/index"
	"github.com/usher-mcp/usher/event/journal"
)

// world is a folder and processes that write there, made by chance.
type world struct {
	t    testing.TB
	r    *rand.Rand
	dir  string
	now  time.Time
	back time.Duration // by how much the clock is set back
	runs []*run
	mu   sync.Mutex // of what journals call by themselves
	time *rand.Rand
	ids  int
	safe bool // nobody is killed
}

type run struct {
	*journal.Journal
	sessions []string
}

var (
	servers = []string{"fs", "a", "a.b", "数据库", "has space"}
	texts   = []string{"plain", "GROSS und klein", "文件没有找到", "line\nbreak", `quo"te`, "tab\t", "É à", "\u2028", "100 % <b>&", "🙂 smile", ""}
)

func newWorld(t testing.TB, seed uint64) *world {
	t.Logf("seed %d", seed)
	return &world{t: t, r: rand.New(rand.NewPCG(seed, 4)), time: rand.New(rand.NewPCG(seed, 5)), dir: t.TempDir(), now: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// tick never gives one time twice.
func (w *world) tick() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(time.Duration(1+w.time.IntN(40)) * time.Millisecond)
	if w.time.IntN(60) == 0 {
		w.back = 0
		if w.time.IntN(2) == 0 {
			w.back = time.Duration(w.time.IntN(20))*time.Second + 7*time.Microsecond*time.Duration(1+w.ids)
		}
	}
	return w.now.Add(-w.back)
}

func (w *world) id(prefix string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return fmt.Sprintf("%s%x", prefix, w.ids*7919)
}

func (w *world) step() {
	switch n := w.r.IntN(40); {
	case len(w.runs) == 0 || n == 0 && len(w.runs) < 4:
		j := start(w.t, journal.Options{Dir: w.dir, Clock: w.tick, NewID: w.id, RotateBytes: int64(4000 + w.r.IntN(20_000))})
		w.runs = append(w.runs, &run{Journal: j})
	case n == 1:
		i := w.r.IntN(len(w.runs))
		if err := w.runs[i].Close(); err != nil {
			w.t.Fatal(err)
		}
		w.runs = append(w.runs[:i], w.runs[i+1:]...)
	case n == 2 && w.r.IntN(3) == 0 && !w.safe: // all are killed
		dir := snapshot(w.t, w.dir)
		for _, r := range w.runs {
			r.Close()
		}
		w.dir, w.runs = dir, nil
	default:
		w.record(pick(w.r, w.runs))
	}
}

func (w *world) record(r *run) {
	switch n := w.r.IntN(10); {
	case len(r.sessions) == 0 || n == 0 && len(r.sessions) < 5:
		id := w.id("s_")
		r.sessions = append(r.sessions, id)
		add(w.t, r.Journal, id, event.SessionStarted{Kind: pick(w.r, []string{"agent", "gateway"}), Client: pick(w.r, texts)})
	case n == 1:
		add(w.t, r.Journal, r.Host(), event.ServerConnected{Server: pick(w.r, servers), Transport: "stdio"},
			event.ServerLog{Server: pick(w.r, servers), Level: "info", Message: pick(w.r, texts)})
	case n == 2:
		add(w.t, r.Journal, r.Host(), event.ConfigLoaded{Sources: []string{pick(w.r, texts)}, Servers: servers[:2]})
	case n == 3:
		add(w.t, r.Journal, pick(w.r, r.sessions), event.CallStarted{Server: pick(w.r, servers), ToolCallID: w.id("r_"), Method: "resources/read"})
	default:
		w.call(r, pick(w.r, r.sessions))
	}
	if w.r.IntN(3) == 0 {
		flush(w.t, r.Journal)
	}
}

func (w *world) tool() (server, name string) {
	server = pick(w.r, servers)
	tool := pick(w.r, []string{"read", "b.read", "write_file", "a_tool_with_a_name_that_is_much_too_long_for_models"})
	switch w.r.IntN(5) {
	case 0:
		return "", "local." + tool
	case 1:
		return server, "mcp__" + strings.ReplaceAll(server, ".", "_") + "__" + tool
	}
	return server, "mcp." + server + "." + tool
}

func (w *world) call(r *run, session string) {
	server, tool := w.tool()
	id := fmt.Sprint("c_", w.r.IntN(30)) // also one that was there before
	args, _ := json.Marshal(map[string]string{"text": pick(w.r, texts)})
	add(w.t, r.Journal, session,
		event.ToolCallRequested{ToolCallID: id, Tool: tool, Args: args},
		event.PermissionRequested{ToolCallID: id, RiskAtDecision: "write", SourcedFrom: "default"},
		event.PermissionResolved{ToolCallID: id, Decision: "allow", Actor: "rule", SourcedFrom: "rule:user"})
	if w.r.IntN(4) == 0 {
		return // never ends
	}
	if server != "" {
		add(w.t, r.Journal, session, event.CallStarted{Server: server, ToolCallID: id, Method: "tools/call"})
		add(w.t, r.Journal, session, event.CallCompleted{Server: server, ToolCallID: id, DurationMs: 3})
	}
	add(w.t, r.Journal, session, event.ToolCompleted{Tool: tool, ToolCallID: id, ResultPreview: pick(w.r, texts), ResultSize: 9})
}

func (w *world) flush() {
	for _, r := range w.runs {
		flush(w.t, r.Journal)
	}
}

func (w *world) query(all []event.Event) (q index.Query) {
	some := pick(w.r, all)
	half := func() bool { return w.r.IntN(4) == 0 }
	if half() {
		q.Session = pick(w.r, []string{"host", some.Session, strings.TrimPrefix(some.Session, "s_"), some.Session[:3], "s_none"})
	}
	if half() {
		q.Type = pick(w.r, []string{some.Type, "mcp.*", "tool.*", "*", some.Type[:4] + "*", "none"})
	}
	if half() {
		q.Server = pick(w.r, append(servers, "none"))
	}
	if half() {
		_, q.Tool = w.tool()
		q.Tool = pick(w.r, []string{q.Tool, q.Tool, q.Tool + "*", "mcp.fs.*", "read", "write_file", "mcp__fs__read", "mcp.fs.read", "local__read", "none"})
	}
	if half() {
		q.Call = fmt.Sprint("c_", w.r.IntN(31))
	}
	if half() {
		q.Since = some.Time.Add(time.Duration(w.r.IntN(3)-1) * time.Nanosecond)
	}
	if half() {
		q.Until = pick(w.r, all).Time.Add(time.Duration(w.r.IntN(3)-1) * time.Nanosecond)
	}
	if half() {
		q.Text = pick(w.r, append(texts, "gross", "文件", "é", "ünd", `\n`, "E\nB", "tool.", `"text":"plain"`, "SMILE", "<b>&"))
	}
	if w.r.IntN(3) > 0 {
		q.Limit = 1 + w.r.IntN(20)
	}
	return q
}

// brute is what a query means, in other words.
type brute struct {
	host  map[string]bool
	tools map[string]string // session and call
	known map[string]bool
}

func text(d event.Data, name string) string {
	v := reflect.ValueOf(d)
	if !v.IsValid() {
		return ""
	}
	if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
		return f.String()
	}
	return ""
}

func choose(all []seen, q index.Query) (lines []string) {
	b := brute{map[string]bool{}, map[string]string{}, map[string]bool{q.Server: true}}
	for _, e := range all {
		if e.server != "" {
			b.known[e.server] = true
		}
	}
	for _, e := range all {
		if b.wants(e, q) {
			lines = append(lines, stored(e.Event))
		}
	}
	if q.Limit > 0 {
		lines = lines[max(0, len(lines)-q.Limit):]
	}
	return lines
}

// seen is an event and what its fields say.
type seen struct {
	event.Event
	kind, call, tool, server string
}

func see(t testing.TB, all []event.Event) (out []seen) {
	for _, e := range all {
		d, err := event.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, seen{e, text(d, "Kind"), text(d, "ToolCallID"), text(d, "Tool"), text(d, "Server")})
	}
	return out
}

func (b *brute) wants(e seen, q index.Query) bool {
	if e.kind == "host" && e.Type == "session.started" {
		b.host[e.Session] = true
	}
	call, tool, server := e.call, e.tool, e.server
	if key := e.Session + " " + call; call != "" {
		if tool != "" {
			b.tools[key] = tool
		}
		tool = b.tools[key]
	}
	switch {
	case q.Session == "host" && !b.host[e.Session],
		q.Session != "host" && !strings.HasPrefix(strings.TrimPrefix(e.Session, "s_"), strings.TrimPrefix(q.Session, "s_")),
		q.Type != "" && q.Type != e.Type && (!strings.HasSuffix(q.Type, "*") || !strings.HasPrefix(e.Type, q.Type[:len(q.Type)-1])),
		q.Call != "" && q.Call != call,
		!q.Since.IsZero() && e.Time.Before(q.Since), !q.Until.IsZero() && !e.Time.Before(q.Until),
		q.Server != "" && q.Server != server && !b.of(tool, q.Server),
		q.Tool != "" && !index.SameTool(q.Tool, tool):
		return false
	}
	return q.Text == "" || contains(e.Event, q.Text)
}

// of reports whether the longest of the known servers that the tool may be of is this one.
func (b *brute) of(tool, server string) bool {
	longest := ""
	for s := range b.known {
		for _, begin := range []string{"mcp." + s + ".", "mcp__" + s + "__", "mcp__" + index.Sane(s) + "__"} {
			if strings.HasPrefix(tool, begin) && len(s) > len(longest) {
				longest = s
			}
		}
	}
	return longest == server
}

var escaped = regexp.MustCompile(`\\u[0-9a-f]{4}`)

func contains(e event.Event, want string) bool {
	fold := strings.ToLower
	in := fold(e.Type + "\x00" + string(e.Data))
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(escaped.ReplaceAllStringFunc(string(e.Data), func(s string) string {
		n, _ := strconv.ParseUint(s[2:], 16, 16)
		return string(rune(n))
	}))
	return strings.Contains(in, fold(want)) || strings.Contains(fold(plain), fold(want))
}

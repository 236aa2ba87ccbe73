package index_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/index"
	"github.com/usher-mcp/usher/event/journal"
)

// large makes a log of about a million events, or USHER_BENCH_EVENTS, of four sessions that call at once.
func large(b *testing.B) (dir string, events int) {
	events = 1_000_000
	if n, err := strconv.Atoi(os.Getenv("USHER_BENCH_EVENTS")); err == nil {
		events = n
	}
	dir = b.TempDir()
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	j := start(b, journal.Options{Dir: dir, Clock: func() time.Time { now = now.Add(time.Millisecond); return now }, RotateBytes: 16 << 20})
	for s := range 4 {
		add(b, j, fmt.Sprint("s_", s), event.SessionStarted{Kind: "gateway"})
	}
	for i := range events / 7 {
		server, id := fmt.Sprint("server", i%9), fmt.Sprintf("c_%010d", i)
		tool := "mcp." + server + ".write_file"
		args := json.RawMessage(fmt.Sprintf(`{"path":"/home/someone/project/src/file%d.go","content":"package main\n\nfunc f%d() {}\n"}`, i%500, i))
		preview := "wrote 3 bytes"
		if i == 1000 {
			preview = "a needle in a haystack"
		}
		if i%20_000 == 7 {
			add(b, j, j.Host(), event.ServerCrashed{Server: server, Error: "signal: killed"})
		}
		add(b, j, fmt.Sprint("s_", i%4),
			event.ToolCallRequested{ToolCallID: id, Tool: tool, Args: args},
			event.PermissionRequested{ToolCallID: id, Tool: tool, Args: args, RiskAtDecision: "write", SourcedFrom: "default"},
			event.PermissionResolved{ToolCallID: id, Decision: "allow", Actor: "rule", SourcedFrom: "rule:user"},
			event.CallStarted{Server: server, ToolCallID: id, Method: "tools/call", Args: args},
			event.ToolStarted{Tool: tool, ToolCallID: id},
			event.CallCompleted{Server: server, ToolCallID: id, DurationMs: 12},
			event.ToolCompleted{Tool: tool, ToolCallID: id, ResultPreview: preview, ResultSize: 13})
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	return dir, events
}

// How fast the index is made, and what it answers in then.
func BenchmarkIndex(b *testing.B) {
	dir, events := large(b)
	b.Run("fill", func(b *testing.B) {
		for b.Loop() {
			if err := os.Remove(indexFile(dir)); err != nil && !os.IsNotExist(err) {
				b.Fatal(err)
			}
			indexed(b, dir).Close()
		}
		b.ReportMetric(float64(b.N)*float64(events)/b.Elapsed().Seconds(), "events/s")
		info, err := os.Stat(indexFile(dir))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/float64(events), "B/event")
	})
	start := time.Date(2026, 7, 28, 12, 1, 0, 0, time.UTC)
	for name, q := range map[string]index.Query{
		"last":          {Limit: 100},
		"server":        {Server: "server3", Limit: 100},
		"tool":          {Tool: "mcp__server3__write_file", Limit: 100},
		"type":          {Type: "mcp.server.*", Limit: 100},
		"common type":   {Type: "tool.*", Limit: 100},
		"host":          {Session: "host", Limit: 100},
		"call":          {Call: "c_0000001000"},
		"common text":   {Text: "FILE7.go", Limit: 100},
		"rare text":     {Text: "needle in", Limit: 100},
		"minute":        {Since: start, Until: start.Add(time.Minute), Server: "server3", Limit: 100},
		"server type":   {Server: "server3", Type: "mcp.server.crashed", Limit: 100},
		"nothing there": {Session: "s_1", Server: "server0", Type: "tool.failed", Limit: 100},
		"all of a type": {Type: "tool.completed"},
	} {
		b.Run(name, func(b *testing.B) {
			l := indexed(b, dir)
			defer l.Close()
			for b.Loop() {
				find(b, l, q)
			}
		})
	}
	b.Run("open again", func(b *testing.B) {
		for b.Loop() {
			indexed(b, dir).Close()
		}
	})
	b.Run("direct rare text", func(b *testing.B) {
		for b.Loop() {
			find(b, index.OpenDirect(dir), index.Query{Text: "needle in", Limit: 100})
		}
	})
}

package cli

import (
	"encoding/json"
	"strings"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/mcp"
)

// salientFields are the fields of an event that its line in the table shows, in order; nil: all of its data.
func salientFields(kind string) []string {
	switch kind {
	case "session.started":
		return []string{"kind", "client"}
	case "session.ended":
		return []string{"reason"}
	case "model.tool_call_requested":
		return []string{"tool", "args"}
	case "tool.ambiguous_call":
		return []string{"tool", "candidates"}
	case "tool.unknown":
		return []string{"tool", "nearest"}
	case "permission.requested":
		return []string{"riskAtDecision", "tool"}
	case "permission.resolved":
		return []string{"decision", "actor", "sourcedFrom", "rule"}
	case "mcp.call.started":
		return []string{"server", "method"}
	case "mcp.call.progress":
		return []string{"server", "progress", "total", "message"}
	case "mcp.call.completed":
		return []string{"server", "durationMs"}
	case "mcp.call.failed":
		return []string{"server", "kind", "message", "durationMs"}
	case "tool.started":
		return []string{"tool"}
	case "tool.completed":
		return []string{"isError", "tool", "resultSize", "resultPreview"}
	case "tool.failed":
		return []string{"reason", "tool", "message"}
	}
	return hostFields(kind)
}

func hostFields(kind string) []string {
	switch kind {
	case "mcp.server.connecting":
		return []string{"server", "transport"}
	case "mcp.server.connected":
		return []string{"server", "transport", "era", "revision", "durationMs"}
	case "mcp.server.catalog":
		return []string{"server", "tools", "resources", "prompts"}
	case "mcp.server.crashed":
		return []string{"server", "attempt", "exitCode", "signal", "error", "stderrTail"}
	case "mcp.server.restarting":
		return []string{"server", "attempt", "delayMs"}
	case "mcp.server.permanently_failed", "mcp.server.disconnected", "mcp.server.unavailable", "mcp.server.shutdown":
		return []string{"server", "reason"}
	case "mcp.server.breaker":
		return []string{"server", "from", "to"}
	case "mcp.server.stray_output":
		return []string{"server", "stream", "count", "sample"}
	case "mcp.server.log":
		return []string{"server", "level", "message"}
	case "config.loaded":
		return []string{"sources", "servers"}
	case "config.changed":
		return []string{"sources", "added", "removed", "changed"}
	case "config.rejected":
		return []string{"file", "line", "field", "message"}
	case "client.connected":
		return []string{"via", "name", "version", "era"}
	case "client.disconnected":
		return []string{"via", "name"}
	case "grant.changed":
		return []string{"what", "scope", "by"}
	case "trust.changed":
		return []string{"what", "scope", "by", "taken"}
	case "log.checkpoint":
		return []string{"files", "heads"}
	}
	return nil
}

// salient is what a person wants to know of an event, in a line.
func salient(e event.Event) string {
	fields := salientFields(e.Type)
	if fields == nil {
		return line(string(e.Data))
	}
	var parts []string
	for _, name := range fields {
		if text := fieldText(name, mcp.Member(e.Data, name)); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "  ")
}

func fieldText(name string, raw json.RawMessage) string {
	var n int
	switch {
	case raw == nil:
		return ""
	case name == "isError":
		return "failed"
	case name == "taken":
		return "taken back"
	case name == "durationMs":
		return string(raw) + " ms"
	case name == "delayMs":
		return "in " + string(raw) + " ms"
	case name == "attempt":
		return "attempt " + string(raw)
	case name == "exitCode":
		return "exit status " + string(raw)
	case name == "from":
		return line(mcp.Text(raw)) + " →"
	case name == "resultSize" && json.Unmarshal(raw, &n) == nil:
		return size(n)
	case name == "tools", name == "resources", name == "prompts":
		return string(raw) + " " + name
	case name == "line":
		return "line " + string(raw)
	case name == "files", name == "heads":
		n := 0
		for range mcp.Elements(raw) {
			n++
		}
		return plural(n, map[string]string{"files": "finished file", "heads": "session"}[name])
	case raw[0] == '[':
		var words []string
		for w := range mcp.Elements(raw) {
			words = append(words, line(mcp.Text(w)))
		}
		return strings.Join(words, ", ")
	case raw[0] == '"':
		return line(mcp.Text(raw))
	}
	return line(string(raw))
}

func eventStyle(e event.Event) style {
	switch e.Type {
	case "tool.failed", "mcp.call.failed", "mcp.server.crashed", "mcp.server.permanently_failed", "mcp.server.unavailable", "tool.unknown", "tool.ambiguous_call":
		return red
	case "config.rejected", "mcp.server.stray_output", "mcp.server.restarting", "mcp.server.disconnected", "mcp.server.breaker":
		return yellow
	case "tool.completed":
		return green
	case "permission.resolved":
		if mcp.Text(mcp.Member(e.Data, "decision")) == "deny" {
			return red
		}
	}
	return ""
}

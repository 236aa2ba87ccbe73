package index

import (
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/mcp"
)

// about is what the data of an event names.
type about struct{ server, tool, call string }

func aboutOf(e event.Event) (a about) {
	for key, value := range mcp.Members(e.Data) {
		switch string(key) {
		case `"server"`:
			a.server = mcp.Text(value)
		case `"tool"`:
			a.tool = mcp.Text(value)
		case `"toolCallId"`:
			a.call = mcp.Text(value)
		}
	}
	return a
}

// startsHost reports whether e begins a session of kind host.
func startsHost(e event.Event) bool {
	return e.Type == "session.started" && mcp.Text(mcp.Member(e.Data, "kind")) == "host"
}

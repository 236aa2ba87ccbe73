package foreign

import (
	"strconv"
	"time"
)

// zed is Zed's settings.json.
type zed struct{}

var _ adapter = zed{}

func (zed) places(m Machine) []spot {
	return append(own(m.configHome("zed", "settings.json")), inProject(".zed/settings.json")...)
}

func (zed) read(r *reader) {
	r.servers(r.root.get("context_servers"), "context_servers", "", func(d *draft) {
		if d.n.get("settings") != nil && d.n.get("command") == nil && d.n.get("url") == nil {
			d.fail(d.e.Where, "a server of an extension, which only that product can start")
			return
		}
		if old := d.n.get("command"); old.is(isObject) { // of an older file
			d.flatten("command", map[string]string{"path": "command"})
		}
		unit := time.Second
		if f, err := strconv.ParseFloat(nodeText(d.n.get("timeout")), 64); err == nil && f >= 1000 {
			unit = time.Millisecond // as older files have it
		}
		d.server(shape{values: literal, untyped: "http", unit: unit, harmless: []string{"settings", "remote"}})
	})
}

func nodeText(n *node) string {
	if n == nil {
		return ""
	}
	return n.text
}

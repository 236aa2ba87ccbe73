package foreign

import "time"

// continues is Continue: config.yaml, and the files in mcpServers.
type continues struct{}

var _ adapter = continues{}

func (continues) places(m Machine) []spot {
	all := own(m.home(".continue", "config.yaml"))
	for _, ending := range []string{"*.yaml", "*.yml", "*.json"} {
		all = append(all, own(m.home(".continue", "mcpServers", ending))...)
	}
	return all
}

func (continues) read(r *reader) {
	all := r.root.get("mcpServers")
	if all.is(isObject) { // a file of Claude's or of another product
		r.servers(all, "mcpServers", "", continueServer)
		return
	}
	if !all.is(isList) {
		return
	}
	for i, item := range all.items {
		at := r.where(item.line, index("mcpServers", i))
		name := item.get("name")
		if !name.is(isText) || name.text == "" {
			r.lose(at, "has no name, or is a block of their hub")
			continue
		}
		r.server(name.text, at, item, "", continueServer)
	}
}

func continueServer(d *draft) {
	d.e.StartTimeout = d.time(time.Millisecond, "connectionTimeout")
	if _, n := d.take("requestOptions"); n.is(isObject) {
		d.e.Headers = d.pairs(n.get("headers"), "headers", "requestOptions.headers", ofContinue)
		for _, m := range n.members {
			if m.name != "headers" {
				d.note(d.where(m.line, join(join(d.e.Where.Field, "requestOptions"), m.name)), "isn't taken over")
			}
		}
	}
	d.common(shape{values: ofContinue})
	if key, at, ok := d.text("apiKey"); ok && d.e.URL != "" && key != "" {
		d.group = "headers "
		d.e.Headers = append(d.e.Headers, Pair{"Authorization", d.say("Bearer "+key, "Authorization", at, true, ofContinue)})
		d.group = ""
	}
	d.leftover([]string{"faviconUrl", "sourceFile", "uses", "with"})
}

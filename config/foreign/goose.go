package foreign

import (
	"slices"
	"time"
)

// goose is Goose's config.yaml.
type goose struct{}

var _ adapter = goose{}

func (goose) places(m Machine) []spot { return own(m.configHome("goose", "config.yaml")) }

func (goose) read(r *reader) {
	all := r.root.get("extensions")
	if !all.is(isObject) {
		return
	}
	theirs := node{kind: isObject, line: all.line}
	for _, m := range all.members {
		if !slices.Contains([]string{"builtin", "platform", "frontend"}, nodeText(m.value.get("type"))) { // parts of the product
			theirs.members = append(theirs.members, m)
		}
	}
	r.servers(&theirs, "extensions", "", func(d *draft) {
		d.rename("cmd", "command")
		d.only("available_tools")
		d.gooseKeys()
		d.server(shape{values: gooseValues, env: "envs", urls: []string{"uri"}, untyped: "http", unit: time.Second})
	})
}

// gooseValues has variables in headers only.
func gooseValues(s string, c *context) []part {
	if c.draft.group == "headers " {
		return ofShell(s, c)
	}
	return literal(s, c)
}

// gooseKeys reads the names of variables whose values are in Goose's own part of the keyring.
func (d *draft) gooseKeys() {
	_, n := d.take("env_keys")
	if !n.is(isList) || d.n.get("command") == nil {
		return
	}
	for _, name := range n.texts() {
		c := &context{reader: d.reader, draft: d, at: d.at(n, "env_keys"), leaf: name, secret: true}
		p := c.keyring(c.name(), "in Goose's keyring")
		d.plain["env "+name] = p.ref
		d.e.Env = append(d.e.Env, Pair{name, p.ref})
	}
}

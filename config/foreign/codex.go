package foreign

import (
	"path/filepath"
	"strings"
	"time"
)

// codex is Codex' config.toml.
type codex struct{}

var _ adapter = codex{}

func (codex) places(m Machine) []spot {
	return append(own(filepath.Join(m.folder("CODEX_HOME", ".codex"), "config.toml")), inProject(".codex/config.toml")...)
}

func (codex) read(r *reader) {
	r.servers(r.root.get("mcp_servers"), "mcp_servers", "", func(d *draft) {
		d.codexValues()
		d.e.StartTimeout = d.time(time.Second, "startup_timeout_sec")
		if d.e.StartTimeout == 0 {
			d.e.StartTimeout = d.time(time.Millisecond, "startup_timeout_ms")
		}
		d.e.CallTimeout = d.time(time.Second, "tool_timeout_sec")
		d.only("enabled_tools")
		d.toolList("deny", "disabled_tools", false)
		d.codexApprovals()
		d.common(shape{values: literal, headers: "http_headers", untyped: "http"})
		d.leftover([]string{"startup_timeout_ms", "environment_id", "required", "supports_parallel_tool_calls", "omit_tools_from"})
	})
}

// codexValues reads the fields that name variables.
func (d *draft) codexValues() {
	if _, n := d.take("env_vars"); n.is(isList) {
		for i, item := range n.items {
			name := item
			if item.is(isObject) {
				name = item.get("name")
			}
			at := d.where(item.line, index(join(d.e.Where.Field, "env_vars"), i))
			if !name.is(isText) || !variableName.MatchString(name.text) {
				d.note(at, "not the name of a variable; it isn't taken over")
				continue
			}
			d.reference(&d.e.Env, "env", name.text, name.text)
		}
	}
	if name, _, ok := d.text("bearer_token_env_var"); ok {
		d.variable("Authorization", "Bearer ", name, "bearer_token_env_var")
	}
	if _, n := d.take("env_http_headers"); n.is(isObject) {
		for _, m := range n.members {
			d.variable(m.name, "", m.value.text, "env_http_headers")
		}
	}
	if _, n := d.take("bearer_token"); n.is(isText) {
		at := d.at(n, "bearer_token")
		d.e.Headers = append(d.e.Headers, Pair{"Authorization", d.say("Bearer "+n.text, "Authorization", at, true, literal)})
	}
}

// variable makes a header of a variable's name.
func (d *draft) variable(header, before, name, field string) {
	if !variableName.MatchString(name) {
		d.note(d.where(d.n.line, join(d.e.Where.Field, field)), "not the name of a variable; it isn't taken over")
		return
	}
	d.plain["headers "+strings.ToLower(header)] = before + "${" + name + "}"
	d.e.Headers = append(d.e.Headers, Pair{header, before + "${" + name + "}"})
}

func (d *draft) reference(to *[]Pair, group, name, variable string) {
	d.plain[group+" "+name] = "${" + variable + "}"
	*to = append(*to, Pair{name, "${" + variable + "}"})
}

func (d *draft) codexApprovals() {
	mode := func(s string) string { return map[string]string{"approve": "allow", "prompt": "ask"}[s] }
	if s, at, ok := d.text("default_tools_approval_mode"); ok && mode(s) != "" {
		d.rule(mode(s), d.e.Name, "*", "", "", at)
	}
	if _, n := d.take("tools"); n.is(isObject) {
		for _, m := range n.members {
			if a := m.value.get("approval_mode"); a.is(isText) && mode(a.text) != "" {
				d.tool(mode(a.text), m.name, m.line, "tools")
			}
		}
	}
}

package foreign

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shape is what the products' entries differ in.
type shape struct {
	values   dialect
	env      string // the field's name; default env
	headers  string // default headers
	urls     []string
	untyped  string        // the type of an address without one; "" leaves it open
	unit     time.Duration // of timeout; 0: it has none
	harmless []string      // fields that mean nothing here
}

// server reads what most products' entries have in common, and then notes what is left over.
func (d *draft) server(s shape) {
	d.common(s)
	d.leftover(s.harmless)
}

func (d *draft) common(s shape) {
	kind := d.kind()
	d.toggles()
	if s.unit > 0 {
		d.e.CallTimeout = d.time(s.unit, "timeout")
	}
	command, commandAt, hasCommand := d.text("command")
	address, addressAt, hasURL := d.text(append([]string{"url"}, s.urls...)...)
	hasCommand, hasURL = hasCommand && command != "", hasURL && address != ""
	switch {
	case d.lost:
	case hasCommand && hasURL && kind == "":
		d.fail(d.e.Where, "has both a command and an address")
	case hasCommand && (kind == "" || kind == "stdio"):
		d.e.Command = d.say(command, "command", commandAt, false, s.values)
		d.process(s)
	case hasURL && kind != "stdio":
		d.e.Type = kind
		if kind == "" {
			d.e.Type = s.untyped
		}
		d.e.URL = d.say(address, "url", addressAt, false, s.values)
		if _, n := d.take(fallback(s.headers, "headers")); n != nil {
			d.e.Headers = append(d.e.Headers, d.pairs(n, "headers", fallback(s.headers, "headers"), s.values)...)
		}
	case kind == "stdio":
		d.fail(d.e.Where, "has no command")
	case kind != "":
		d.fail(d.e.Where, "has no address")
	}
}

func fallback(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// kind is the transport that the entry names, or "".
func (d *draft) kind() string {
	s, at, ok := d.text("type", "transport", "transportType")
	if !ok {
		return ""
	}
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s)) {
	case "stdio", "local":
		return "stdio"
	case "http", "streamablehttp":
		return "http"
	case "sse":
		return "sse"
	case "ws", "websocket":
		return "ws"
	case "remote", "":
		return ""
	}
	d.fail(at, "a server of this type lives inside that product, or its transport isn't supported")
	return ""
}

func (d *draft) toggles() {
	if off, ok := d.flag("disabled"); ok {
		d.e.Disabled = off
	}
	if on, ok := d.flag("enabled"); ok {
		d.e.Disabled = d.e.Disabled || !on
	}
}

// process reads what only a command has.
func (d *draft) process(s shape) {
	if _, n := d.take("args"); n != nil {
		d.arguments(n, "args", n.items, s.values)
	}
	if env := fallback(s.env, "env"); d.n.get(env) != nil {
		_, n := d.take(env)
		d.e.Env = append(d.e.Env, d.pairs(n, "env", env, s.values)...)
	}
	if dir, at, ok := d.text("cwd"); ok && dir != "" {
		d.e.Cwd = d.say(dir, "cwd", at, false, s.values)
	}
}

func (d *draft) arguments(list *node, name string, items []*node, values dialect) {
	if !list.is(isList) {
		d.fail(d.at(list, name), "expected a list of texts")
		return
	}
	before := ""
	for i, item := range items {
		at := d.where(item.line, index(join(d.e.Where.Field, name), i))
		if item.kind < isBool || item.kind > isText {
			d.fail(at, "expected a text")
			return
		}
		d.e.Args = append(d.e.Args, d.argument(item.text, before, "arg"+strconv.Itoa(i+1), at, values))
		before = item.text
	}
}

// pairs reads env or headers, whatever the format calls them.
func (d *draft) pairs(n *node, group, field string, values dialect) (all []Pair) {
	d.group = group + " "
	defer func() { d.group = "" }()
	if n == nil || n.is(isNull) {
		return nil
	}
	if !n.is(isObject) {
		d.fail(d.at(n, field), "expected an object of texts")
		return nil
	}
	for _, m := range n.members {
		at := d.where(m.line, join(join(d.e.Where.Field, field), m.name))
		switch {
		case m.value.is(isNull):
			d.note(at, "null, which unsets a variable there, sets nothing here")
		case m.value.kind < isBool || m.value.kind > isText || strings.ContainsRune(m.value.text, 0):
			d.fail(at, "expected a text")
		case slices.ContainsFunc(all, func(p Pair) bool { return p.Name == m.name }):
			d.note(at, "a second value of this name; the first one counts")
		default:
			all = append(all, Pair{m.name, d.say(m.value.text, m.name, at, secretName(m.name), values)})
		}
	}
	return all
}

// duration is not ok for what is no time. It is at most 7 days.
func duration(n *node, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(n.text, 64)
	if n.kind != isNumber || err != nil || f < 0 || math.IsNaN(f) {
		return 0, false
	}
	const most = 7 * 24 * time.Hour
	return time.Duration(min(f*float64(unit), float64(most))), true
}

// leftover notes the fields that were not read.
func (d *draft) leftover(harmless []string) {
	if d.lost {
		return
	}
	for _, m := range d.n.members {
		if d.used[m.name] || slices.Contains(harmless, m.name) || m.value.is(isNull) || empty(m.value) {
			continue
		}
		if why := left(m.name, d.e.Command != ""); why != "" {
			d.note(d.where(m.line, join(d.e.Where.Field, m.name)), why)
		}
	}
}

func empty(n *node) bool {
	return n.isFalse() || n.kind == isText && n.text == "" || (n.kind == isList || n.kind == isObject) && len(n.items)+len(n.members) == 0
}

// left says why a field isn't taken over; "" for what can be done without.
func left(name string, command bool) string {
	switch name {
	case "description", "title", "name", "display_name", "displayName", "icon", "version", "gallery", "metadata", "bundled", "dev", "$schema",
		"alwaysLoad", "deferTools", "remoteConfigured", "watchPaths", "source", "comment", "_comment", "available":
		return ""
	case "oauth", "auth", "scopes", "oauth_resource", "authProviderType", "targetAudience", "targetServiceAccount", "oauth_client_id",
		"oauth_client_secret", "oauth_callback_port", "oauthClientId", "oauthRedirectUrl", "oauthScope", "clientName", "tokenCacheDir":
		return "how to log in isn't taken over"
	case "headersHelper":
		return "a command that makes headers isn't run; write the headers by hand"
	case "envFile":
		return "a file of variables isn't read; write what is needed into env"
	case "sandbox", "sandboxEnabled":
		return "the sandbox isn't taken over: the server is not confined here"
	case "tcp":
		return "this transport isn't supported"
	case "args", "env", "cwd", "environment", "envs", "headers", "command", "url":
		if command {
			return "has no meaning for a command; it isn't taken over"
		}
		return "has no meaning for an address; it isn't taken over"
	}
	return "unknown here; it isn't taken over"
}

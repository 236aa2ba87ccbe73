package config

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

const maxName = 64

func (r *reader) readServers(f field) {
	members, _ := r.members(f, `{"NAME": {"command": "…"}}`)
	for _, f := range members {
		line, _ := r.doc.place(f.key)
		if why := badServerName(f.name); why != "" {
			r.report(f.key, f.path, why)
			continue
		}
		if first, taken := r.names[f.name]; taken {
			r.report(f.key, f.path, "this name is already used "+lineOf(first)+"; rename one of the servers")
			continue
		}
		r.names[f.name] = line
		r.readServer(f, line)
	}
}

func badServerName(name string) string {
	lower := strings.ToLower(name)
	switch {
	case strings.TrimSpace(name) == "":
		return "a server needs a name; write one in place of the empty text"
	case len(name) > maxName:
		return "a server's name is at most 64 bytes; shorten it"
	case !utf8.ValidString(name):
		return "a server's name must be UTF-8; correct it"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "a server's name has no control characters; remove them"
	case lower == "local", lower == "usher", strings.HasPrefix(lower, "usher-"): // E3
		return "this name is reserved for usher's own servers; choose another one"
	}
	return ""
}

// entry is one server while it is read.
type entry struct {
	expander
	at     field
	server Server
	kind   string // what "type" says
	scheme string // of the url; "" if that isn't known
	port   bool   // the url names one
	away   bool   // the url leads to another machine, as far as its host says
	bearer field  // where the token is from
	token  string
	has    map[string]field
	tuner  *tuner
	broken bool
}

func (r *reader) readServer(f field, line int) {
	members, ok := r.members(f, `{"command": "…"} or {"url": "https://…"}`)
	if !ok {
		return
	}
	e := &entry{expander: expander{reader: r}, at: f, has: make(map[string]field)}
	e.server.Lifecycle = r.base
	e.tuner = &tuner{reader: r, set: &e.server.Lifecycle, preset: r.preset}
	e.server.Name, e.server.File, e.server.Line, e.server.Source = f.name, r.doc.name, line, r.from.Source
	for _, again := range r.doc.repeatedIn(f.value.StartOffset, f.value.EndOffset) {
		e.fail(again.offset, again.field(), msgRepeated)
	}
	for _, m := range members {
		e.has[m.name] = m
	}
	var canonical bool
	e.server.Hash, canonical = hashOf(f.value)
	if canonical && r.from.Source == SourceProject { // the same text in another folder runs other files
		sum := sha256.Sum256([]byte(r.from.Folder + "\x00" + e.server.Hash))
		e.server.Hash = "sha256:" + hex.EncodeToString(sum[:])
	}
	e.readTrust(canonical)
	e.readDisabled()
	for _, m := range members {
		if e.has[m.name].key == m.key {
			e.readField(m)
		}
	}
	e.checkTransport()
	e.tune()
	if e.broken {
		return
	}
	if !canonical {
		e.fail(f.key, f.path, `a \u escape in this entry is no character; correct it`)
		return
	}
	e.settle()
	e.server.Key = keyOf(&e.server)
	if e.raw {
		r.cfg.Pending = append(r.cfg.Pending, e.server)
		return
	}
	r.cfg.Servers = append(r.cfg.Servers, e.server)
}

// fail reports and costs the entry.
func (e *entry) fail(offset int, path, message string) {
	e.report(offset, path, message)
	e.broken = true
}

func (e *entry) failValue(f field, message string) { e.fail(f.value.StartOffset, f.path, message) }

// keep passes on a value, or costs the entry because it was bad.
func keep[T any](e *entry, value T, ok bool) T {
	e.broken = e.broken || !ok
	return value
}

// readDisabled comes first: a disabled entry may lack variables.
func (e *entry) readDisabled() {
	if f, ok := e.has["disabled"]; ok {
		v, ok := e.flag(f)
		e.server.Disabled = keep(e, v, ok)
	}
	if f, ok := e.has["enabled"]; ok {
		v, ok := e.flag(f)
		e.server.Disabled = keep(e, !v, ok) || e.server.Disabled
	}
	e.lenient = e.server.Disabled || e.reader.lenient || e.raw
}

func (e *entry) readField(f field) {
	s := &e.server
	switch f.name {
	case "type":
		e.readType(f)
	case "command":
		s.Command = e.required(f, `a program; write "command": "…"`)
	case "args":
		s.Args = e.list(f)
	case "env":
		s.Env = e.values(f, badEnv)
	case "cwd":
		v, ok := e.text(f)
		s.Dir = keep(e, v, ok)
	case "url":
		e.readURL(f)
	case "headers":
		s.Headers = e.values(f, badHeader)
		e.checkHeaders(f)
	case "bearerToken", "bearer_token", "bearerTokenEnvVar", "bearer_token_env_var":
		e.readBearer(f)
	case "tls":
		e.readTLS(f)
	case "timeout":
		e.readTimeout(f)
	case "trustHints":
		e.readTrustHints(f)
	case "disabled", "enabled":
	default:
		if e.tuner.read(f) {
			return
		}
		if why := foreignField(f.name); why != "" {
			e.report(f.key, f.path, why)
		}
	}
}

// hashOf is not ok where the value has no canonical form.
func hashOf(v hujson.Value) (string, bool) {
	v = v.Clone()
	v.Minimize()
	canonical := jsontext.Value(v.Pack())
	err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		return "", false
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), true
}

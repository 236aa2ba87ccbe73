package config

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tailscale/hujson"

	"github.com/usher-mcp/usher/internal/secret"
)

const (
	maxTimeout = 7 * 24 * time.Hour
	// leastTimeout is below what anybody means in milliseconds: such a number
	// was written for a product that counts seconds.
	leastTimeout = time.Second
)

func lineOf(n int) string { return "in line " + strconv.Itoa(n) }

// required is a text that must not be empty.
func (e *entry) required(f field, what string) string {
	s, ok := e.text(f)
	if ok && strings.TrimSpace(s) == "" {
		e.failValue(f, "is empty; it must name "+what)
	}
	return keep(e, s, ok)
}

func (e *entry) list(f field) []string {
	elements, ok := e.elements(f)
	out := keep(e, []string(nil), ok)
	for _, el := range elements {
		s, ok := e.text(el)
		out = append(out, keep(e, s, ok))
	}
	return out
}

// values reads env or headers. bad says what is wrong with a pair, or "".
func (e *entry) values(f field, bad func(name, value string) string) map[string]secret.Value {
	members, ok := e.members(f, `{"NAME": "…"}`)
	out := keep(e, make(map[string]secret.Value), ok)
	for _, m := range members {
		raw, set, ok := e.scalar(m)
		if !ok || !set {
			keep(e, raw, ok)
			continue
		}
		v, ok := e.expand(m, raw, secretName(m.name))
		if !ok {
			e.broken = true
			continue
		}
		if why := bad(m.name, v); why != "" {
			e.failValue(m, why)
			continue
		}
		out[m.name] = secret.Value(v)
	}
	return out
}

// scalar returns the literal text of a string, number or bool; null is not set.
func (e *entry) scalar(f field) (s string, set, ok bool) {
	switch f.value.Value.Kind() {
	case '"':
		s, ok = e.reader.text(f)
		return s, ok, ok
	case '0', 't', 'f':
		return textOf(f.value), true, true
	case 'n':
		return "", false, true
	}
	e.bad(f, `expected a string, number, true, false or null; write "…"`)
	return "", false, false
}

func badEnv(name, value string) string {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return `a variable's name is not empty and has no "="; correct it`
	}
	if strings.ContainsRune(value, 0) {
		return "a NUL character can't be passed on; remove it from the variable"
	}
	return ""
}

func badHeader(name, value string) string {
	const marks = "!#$%&'*+-.^_`|~"
	notToken := func(r rune) bool {
		return r > unicode.MaxASCII || !isWord(byte(r)) && !strings.ContainsRune(marks, r)
	}
	if name == "" || strings.ContainsFunc(name, notToken) {
		return "not the name of a header; use letters, digits and -"
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return "a header has no line break or other control character; remove it from the value or from its variable"
	}
	return ""
}

// checkHeaders finds one header in two spellings, and registers credentials.
func (e *entry) checkHeaders(f field) {
	object, ok := f.value.Value.(*hujson.Object)
	if !ok {
		return
	}
	seen := make(map[string]bool)
	for _, m := range fieldsOf(object, f.path) {
		lower := strings.ToLower(m.name)
		if seen[lower] {
			e.fail(m.key, m.path, "this header is here twice, in two spellings; keep one of them")
		}
		seen[lower] = true
		if secretName(m.name) {
			e.cfg.secrets.addCredentials(e.server.Headers[m.name].Reveal())
		}
	}
}

// duration reads milliseconds or a text such as "30s".
func (r *reader) duration(f field) (time.Duration, bool) {
	d, ok := parseDuration(f.value)
	if !ok {
		r.bad(f, badTime)
		return 0, false
	}
	if d < 0 || d > maxTimeout {
		r.bad(f, "a time is from 0 (the default) to 168h")
		return 0, false
	}
	return d, true
}

func parseDuration(v hujson.Value) (time.Duration, bool) {
	switch v.Value.Kind() {
	case '"':
		d, err := time.ParseDuration(textOf(v))
		return d, err == nil
	case '0':
		var ms float64
		if err := json.Unmarshal([]byte(textOf(v)), &ms); err != nil {
			return 0, false
		}
		// Out of range either way, but a conversion of it would not be defined.
		ms = min(max(ms, -1), 2*float64(maxTimeout.Milliseconds()))
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	return 0, false
}

func (e *entry) readTimeout(f field) {
	d, ok := e.duration(f)
	d = keep(e, d, ok)
	switch _, both := e.has["callTimeout"]; {
	case !ok:
	case both:
		e.report(f.key, f.path, "ignored: callTimeout is there too; keep one of them")
	case f.value.Value.Kind() == '0' && d > 0 && d < leastTimeout:
		e.report(f.value.StartOffset, f.path, `ignored: this is milliseconds here; for seconds write "callTimeout": "…s"`)
	default:
		e.server.CallTimeout = d
	}
}

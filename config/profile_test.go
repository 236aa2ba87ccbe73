package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
)

func TestProfiles(t *testing.T) { // A6
	for in, want := range map[string]struct {
		Profile
		preset lifecycle.Settings
	}{
		``:                           {Profile{"enterprise", []string{"stdio", "http", "sse", "ws", "grpc"}, "disk"}, lifecycle.Default()},
		`"profile": "enterprise",`:   {Profile{"enterprise", []string{"stdio", "http", "sse", "ws", "grpc"}, "disk"}, lifecycle.Default()},
		`"profile": "professional",`: {Profile{"professional", []string{"stdio", "http", "sse"}, "memory"}, lifecycle.Professional()},
		`"profile": "minimal",`:      {Profile{"minimal", []string{"stdio"}, "memory"}, lifecycle.Minimal()},
	} {
		// The profile counts wherever it stands.
		for _, file := range []string{`{` + in + `"servers": {"s": {"command": "x"}}}`, `{"servers": {"s": {"command": "x"}},` + in + `}`} {
			cfg, err := Parse("c", []byte(file), nil)
			if err != nil || len(cfg.Problems) > 0 || len(cfg.Servers) != 1 {
				t.Fatal(file, err, cfg)
			}
			if diff := cmp.Diff(want.Profile, cfg.Profile) + cmp.Diff(want.preset, cfg.Servers[0].Lifecycle); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		}
	}
	if got := parseWith(t, `"profile": "minimal", "defaults": {"breaker": true, "pool": {"max": 7}},`, `"command": "x"`).Lifecycle; got.Breaker != lifecycle.Default().Breaker ||
		got.Pool != (lifecycle.Pool{Min: 2, Max: 7, Idle: 5 * time.Minute, Ping: time.Minute}) || got.Isolation != lifecycle.PerCall {
		t.Errorf("what a profile leaves out can't be turned on: %+v", got)
	}
	if cfg, err := Load("", nil); err != nil || cfg.Profile.Name != "enterprise" || cfg.Locale != fault.English {
		t.Errorf("%+v %v", cfg, err)
	}
}

func TestTransportsOfProfiles(t *testing.T) { // A6
	const servers = `"servers": {"c": {"command": "x"}, "h": {"url": "http://h"}, "s": {"type": "sse", "url": "http://h"}, "w": {"url": "ws://h"},
"off": {"url": "ws://h", "disabled": true}}`
	no := func(name, kind, profile string) string {
		return `1: servers.` + name + `: is of type ` + kind + `, and the profile ` + profile + `; change "profile", or disable the server`
	}
	const professional, minimal = "professional has only stdio, http, sse", "minimal has only stdio"
	for _, m := range []message{
		{"enterprise", `{` + servers + `}`, "c h off s w", nil},
		{"professional", `{"profile": "professional", ` + servers + `}`, "c h off s", []string{no("w", "ws", professional)}},
		{"minimal", `{"profile": "minimal", ` + servers + `}`, "c off", []string{no("h", "http", minimal), no("s", "sse", minimal), no("w", "ws", minimal)}},
		{"unknown", `{"profile": "minimla", "servers": {"w": {"url": "ws://h"}}}`, "w", []string{`1: profile: expected "minimal", "professional" or "enterprise"; enterprise is in force`}},
		{"no text", `{"profile": {}}`, "", []string{`1: profile: expected "minimal", "professional" or "enterprise"; enterprise is in force`}},
	} {
		t.Run(m.name, m.check)
	}
}

func TestLocale(t *testing.T) { // D6
	for in, want := range map[string]fault.Language{`"en"`: "en", `"zh"`: "zh", `"zh-CN"`: "zh", `"zh_CN.UTF-8"`: "zh", `"EN-gb"`: "en"} {
		cfg, err := Parse("c", []byte(`{"locale": `+in+`}`), nil)
		if err != nil || len(cfg.Problems) > 0 || cfg.Locale != want {
			t.Errorf("%s: %q %v %v", in, cfg.Locale, cfg.Problems, err)
		}
	}
	const bad = `expected "en" or "zh"; English is in force`
	message{in: `{"locale": "fr"}`, want: []string{`1: locale: ` + bad}}.check(t)
	message{in: `{"locale": 1, "language": "zh"}`, want: []string{`1: locale: ` + bad, `1: language: not read here; write "locale"`}}.check(t)
}

func TestErrorTable(t *testing.T) { // D5, D6
	cfg, err := Parse("c", []byte(`{"errors": {"codes": {"-32050": "auth", "7": "ResourceError"}, "statuses": {"423": "timeout"},
		"texts": {"timeout": {"en": "{tool} hangs", "zh": "{tool} 超时"}, "breaker_open": {"en": "{server} rests{retry}"}}}}`), nil)
	if err != nil || len(cfg.Problems) > 0 {
		t.Fatal(err, cfg.Problems)
	}
	want := fault.Table{
		Codes: map[int]fault.Kind{-32050: fault.Auth, 7: fault.ResourceNotFound}, Statuses: map[int]fault.Kind{423: fault.Timeout},
		Texts: map[fault.Kind]map[fault.Language]string{
			fault.Timeout: {"en": "{tool} hangs", "zh": "{tool} 超时"}, fault.BreakerOpen: {"en": "{server} rests{retry}"},
		},
	}
	if diff := cmp.Diff(want, cfg.Errors); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e := cfg.Errors.Sort(&fault.Error{Kind: fault.ServerError, Status: 423, Tool: "t"})
	if got := cfg.Errors.Text(e, fault.Chinese); got != "t 超时" {
		t.Errorf("got %q", got)
	}
}

func TestMessagesForErrors(t *testing.T) { // D5, G1
	kinds := "expected one of " + strings.Join(fault.AssignableNames(), ", ")
	const code, status = `not a code of JSON-RPC; write a whole number, such as "-32050"`, `not an HTTP status of an error; write a number from 400 to 599`
	for _, m := range []message{
		{"no object", `{"errors": "none"}`, "", []string{`1: errors: expected an object; write {"codes": {"-32050": "auth"}}`}},
		{"no objects", `{"errors": {"codes": [], "statuses": 1, "texts": "x"}}`, "", []string{
			`1: errors.codes: expected an object; write {"-32050": "auth"}`, `1: errors.statuses: expected an object; write {"423": "timeout"}`,
			`1: errors.texts: expected an object; write {"timeout": {"en": "{tool} …", "zh": "…"}}`}},
		{"unknown", `{"errors": {"code": {}, "colour": {}}}`, "", []string{
			`1: errors.code: unknown field, did you mean "codes"? It is ignored`, `1: errors.colour: unknown field, ignored; known are codes, statuses, texts`}},
		{"codes", `{"errors": {"codes": {"x": "auth", "0": "auth", "+7": "auth", "-32050": "denied", "1": "permission_denied", "2": 3, "99999999999": "auth"}}}`, "", []string{
			`1: errors.codes.x: ` + code, `1: errors.codes.0: ` + code, `1: errors.codes["+7"]: ` + code, `1: errors.codes.-32050: ` + kinds,
			`1: errors.codes.1: ` + kinds, `1: errors.codes.2: ` + kinds, `1: errors.codes.99999999999: ` + code}},
		{"statuses", `{"errors": {"statuses": {"200": "auth", "0423": "auth", "423": "Auth"}}}`, "", []string{
			`1: errors.statuses.200: ` + status, `1: errors.statuses.0423: ` + status, `1: errors.statuses.423: ` + kinds}},
		{"texts", `{"errors": {"texts": {"timeot": {}, "auth": "x", "timeout": {"en": "hangs", "zh": 1, "fr": "x"}, "not_found": {"en": "{toool}"}, "stale": {"en": "{tool}\n"}}}}`, "", []string{
			`1: errors.texts.timeot: unknown kind of failure, did you mean "timeout"? It is ignored`,
			`1: errors.texts.auth: expected an object; write {"en": "{tool} …", "zh": "…"}`,
			`1: errors.texts.timeout.en: the text doesn't say what failed; write {tool} or {server} into it`,
			`1: errors.texts.timeout.zh: expected a string; write "…"`,
			`1: errors.texts.timeout.fr: unknown field, ignored; known are en, zh`,
			`1: errors.texts.not_found.en: what may stand between { and } is tool, server, detail and retry; correct it`,
			`1: errors.texts.stale.en: a text has no control characters; remove them`}},
		{"twice", `{"errors": {"codes": {"7": "auth", "7": "timeout"}}}`, "", []string{`1: errors.codes.7: this name is here twice; keep one of them`}},
	} {
		t.Run(m.name, m.check)
	}
}

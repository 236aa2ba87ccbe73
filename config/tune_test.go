package config

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/internal/lifecycle"
)

// parseWith reads one server in a file with other fields.
func parseWith(t *testing.T, root, entry string) Server {
	t.Helper()
	cfg, err := Parse("c", []byte(`{`+root+`"servers": {"s": {`+entry+`}}}`), nil)
	if err != nil || len(cfg.Servers) != 1 || len(cfg.Problems) > 0 {
		t.Fatalf("%s %s: %v %v", root, entry, err, cfg)
	}
	return cfg.Servers[0]
}

type settings = lifecycle.Settings

// tuned are fields and what they change of the defaults. C7
func tuned() map[string]func(*settings) {
	const s, ms = time.Second, time.Millisecond
	return map[string]func(*settings){
		`"type": "http"`:        func(*settings) {},
		`"startTimeout": "3s"`:  func(x *settings) { x.Connect, x.FirstConnect = 3*s, 3*s },
		`"startTimeout": 0`:     func(*settings) {},
		`"callTimeout": 2500`:   func(x *settings) { x.Request = 2500 * ms },
		`"callTimeout": "1h"`:   func(x *settings) { x.Request, x.Hard = time.Hour, time.Hour },
		`"timeout": 45000`:      func(x *settings) { x.Request = 45 * s },
		`"callLimit": "20m"`:    func(x *settings) { x.Hard = 20 * time.Minute },
		`"callLimit": "5s"`:     func(x *settings) { x.Request, x.Hard = 5*s, 5*s },
		`"reconnect": false`:    func(x *settings) { x.Reconnect.Enabled = false },
		`"reconnect": true`:     func(*settings) {},
		`"reconnect": {}`:       func(*settings) {},
		`"retry": false`:        func(x *settings) { x.Retry.Steps = 0 },
		`"retry": true`:         func(*settings) {},
		`"breaker": false`:      func(x *settings) { x.Breaker = lifecycle.Breaker{} },
		`"pool": false`:         func(x *settings) { x.Pool = lifecycle.Pool{} },
		`"pool": {"max": 1}`:    func(x *settings) { x.Pool.Min, x.Pool.Max = 1, 1 },
		`"pool": {"min": 20}`:   func(x *settings) { x.Pool.Min, x.Pool.Max = 20, 20 },
		`"pool": {"ping": 0}`:   func(x *settings) { x.Pool.Ping = 0 },
		`"maxConcurrent": 1`:    func(x *settings) { x.Concurrent = 1 },
		`"maxConcurrent": 0`:    func(x *settings) { x.Concurrent = 0 },
		`"isolation": "call"`:   func(x *settings) { x.Isolation = lifecycle.PerCall },
		`"isolation": "shared"`: func(x *settings) { x.Isolation = lifecycle.Shared },
		`"stateful": true`:      func(x *settings) { x.Stateful = true },
		`"subscribe": false`:    func(x *settings) { x.Subscribe = false },
		`"listTTL": "15m"`:      func(x *settings) { x.ListTTL = 15 * time.Minute },
		`"idempotent": ["get_*", "list_?"]`: func(x *settings) {
			x.Idempotent = []string{"get_*", "list_?"}
		},
		`"reconnect": {"immediate": false, "base": "2s", "cap": "1m", "factor": 1.5, "jitter": 0.1, "attempts": 7, "errors": 4}`: func(x *settings) {
			x.Reconnect = lifecycle.Reconnect{Enabled: true, Errors: 4, Backoff: lifecycle.Backoff{Base: 2 * s, Cap: time.Minute, Factor: 1.5, Jitter: 0.1, Steps: 7}}
		},
		`"reconnect": {"base": "1m"}`:   func(x *settings) { x.Reconnect.Base, x.Reconnect.Cap = time.Minute, time.Minute },
		`"reconnect": {"cap": "100ms"}`: func(x *settings) { x.Reconnect.Base, x.Reconnect.Cap = 100*ms, 100*ms },
		`"retry": {"immediate": false, "base": 20, "cap": 40, "factor": 1, "jitter": 0, "attempts": 2}`: func(x *settings) {
			x.Retry = lifecycle.Backoff{Base: 20 * ms, Cap: 40 * ms, Factor: 1, Steps: 2}
		},
		`"retry": {"attempts": 0}`: func(x *settings) { x.Retry.Steps = 0 },
		`"breaker": {"failures": 2, "window": "10s", "cooldown": "1s", "probes": 1}`: func(x *settings) {
			x.Breaker = lifecycle.Breaker{Failures: 2, Window: 10 * s, Cooldown: s, Probes: 1}
		},
		`"pool": {"min": 0, "max": 3, "idle": "1m", "ping": "5s"}`: func(x *settings) {
			x.Pool = lifecycle.Pool{Min: 0, Max: 3, Idle: time.Minute, Ping: 5 * s}
		},
	}
}

// C7, D1–D4: each field in an entry, in defaults, and in an entry over defaults that say the opposite.
func TestLifecycleOfAnEntry(t *testing.T) {
	const opposite = `"defaults": {"reconnect": false, "retry": false, "breaker": false, "pool": false, "idempotent": ["*"],
		"isolation": "session", "stateful": false, "subscribe": true, "maxConcurrent": 3, "listTTL": "1s", "callTimeout": "9s"},`
	for fields, change := range tuned() {
		want := lifecycle.Default()
		change(&want)
		if diff := cmp.Diff(want, parseWith(t, "", fields+`, "url": "https://h"`).Lifecycle); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fields, diff)
		}
		if name, _, _ := strings.Cut(fields[1:], `"`); slices.Contains(tuneFields, name) {
			got := parseWith(t, `"defaults": {`+fields+`},`, `"url": "https://h"`).Lifecycle
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("defaults: %s (-want +got):\n%s", fields, diff)
			}
			both := parseWith(t, opposite, fields+`, "url": "https://h"`).Lifecycle
			if part := partOf(&both, name); part != nil && !cmp.Equal(part, partOf(&want, name)) {
				t.Errorf("over defaults: %s: %+v, want %+v", fields, part, partOf(&want, name))
			}
		}
	}
}

func partOf(s *settings, name string) any {
	return map[string]any{
		"reconnect": s.Reconnect, "retry": s.Retry, "breaker": s.Breaker, "pool": s.Pool, "idempotent": s.Idempotent, "isolation": s.Isolation,
		"stateful": s.Stateful, "subscribe": s.Subscribe, "maxConcurrent": s.Concurrent, "listTTL": s.ListTTL,
	}[name]
}

func TestRestartOfAnEntry(t *testing.T) { // C7
	off := lifecycle.Default().Restart
	off.Enabled = false
	for fields, want := range map[string]lifecycle.Restart{
		`"restart": false`: off,
		`"restart": true`:  lifecycle.Default().Restart,
		`"restart": {"base": "1s", "cap": "4s", "factor": 3, "jitter": 0.5, "attempts": 1, "stableAfter": "2m"}`: {
			Enabled: true, Stable: 2 * time.Minute, Backoff: lifecycle.Backoff{Base: time.Second, Cap: 4 * time.Second, Factor: 3, Jitter: 0.5, Steps: 1}},
	} {
		if diff := cmp.Diff(want, parseWith(t, "", fields+`, "command": "x"`).Lifecycle.Restart); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fields, diff)
		}
		if diff := cmp.Diff(want, parseWith(t, `"defaults": {"restart": false},`, fields+`, "command": "x"`).Lifecycle.Restart); diff != "" {
			t.Errorf("over defaults: %s (-want +got):\n%s", fields, diff)
		}
	}
}

func TestMessagesForLifecycle(t *testing.T) { // C7, G1
	const time = `expected a time; write "30s" or a number of milliseconds`
	for field, want := range map[string]string{
		`"startTimeout": "soon"`:                 `startTimeout: ` + time,
		`"callTimeout": "1"`:                     `callTimeout: ` + time,
		`"callLimit": -1`:                        `callLimit: a time is from 0 (the default) to 168h`,
		`"callLimit": "1m", "callTimeout": "2m"`: `callLimit: is shorter than callTimeout, which is for a call that shows no progress; write a longer time`,
		`"callLimit": "1m", "timeout": 120000`:   `callLimit: is shorter than callTimeout, which is for a call that shows no progress; write a longer time`,
		`"retry": 3`:                             `retry: expected true, false or an object; write {"attempts": 5, "base": "1s"}`,
		`"retry": null`:                          `retry: expected true, false or an object; write {"attempts": 5, "base": "1s"}`,
		`"retry": {"attempts": -1}`:              `retry.attempts: expected a whole number from 0 to 1000`,
		`"retry": {"attempts": 1.5}`:             `retry.attempts: expected a whole number from 0 to 1000`,
		`"retry": {"attempts": "2"}`:             `retry.attempts: expected a whole number from 0 to 1000`,
		`"retry": {"attempts": 1e999}`:           `retry.attempts: expected a whole number from 0 to 1000`,
		`"retry": {"base": "0s"}`:                `retry.base: a time is from 10ms to 1h here; a number is milliseconds`,
		`"retry": {"cap": "25h"}`:                `retry.cap: a time is from 10ms to 24h here; a number is milliseconds`,
		`"retry": {"factor": 0.5}`:               `retry.factor: expected a number from 1 to 100`,
		`"retry": {"jitter": 25}`:                `retry.jitter: expected a number from 0 to 1`,
		`"retry": {"immediate": 1}`:              `retry.immediate: expected true or false`,
		`"retry": {"base": "2s", "cap": "1s"}`:   `retry.cap: is shorter than base; write a longer time`,
		`"retry": {"base": "2s", "base": "1s"}`:  `retry.base: this name is here twice; keep one of them`,
		`"reconnect": "no"`:                      `reconnect: expected true, false or an object; write {"attempts": 5, "base": "1s"}`,
		`"reconnect": {"errors": true}`:          `reconnect.errors: expected a whole number from 0 to 1000`,
		`"reconnect": {"base": []}`:              `reconnect.base: ` + time,
		`"restart": []`:                          `restart: expected true, false or an object; write {"attempts": 3, "base": "500ms"}`,
		`"restart": {"stableAfter": 0}`:          `restart.stableAfter: a time is from 10ms to 24h here; a number is milliseconds`,
		`"breaker": 5`:                           `breaker: expected true, false or an object; write {"failures": 5, "window": "60s", "cooldown": "30s", "probes": 3}`,
		`"breaker": {"failures": 0}`:             `breaker.failures: expected a whole number from 1 to 10000; to turn it off, write false in place of the object`,
		`"breaker": {"window": "1d"}`:            `breaker.window: ` + time,
		`"breaker": {"cooldown": 1}`:             `breaker.cooldown: a time is from 10ms to 24h here; a number is milliseconds`,
		`"breaker": {"probes": 101}`:             `breaker.probes: expected a whole number from 1 to 100`,
		`"pool": {"max": 0}`:                     `pool.max: expected a whole number from 1 to 256; to turn it off, write false in place of the object`,
		`"pool": {"min": 5, "max": 4}`:           `pool.min: is more than max; write a smaller number`,
		`"pool": {"min": 300}`:                   `pool.min: expected a whole number from 0 to 256`,
		`"pool": {"idle": 0}`:                    `pool.idle: a time is from 10ms to 168h here; a number is milliseconds`,
		`"pool": {"ping": "never"}`:              `pool.ping: ` + time,
		`"maxConcurrent": "many"`:                `maxConcurrent: expected a whole number from 0 to 100000`,
		`"maxConcurrent": -1`:                    `maxConcurrent: expected a whole number from 0 to 100000`,
		`"isolation": "none"`:                    `isolation: expected "auto", "shared", "session" or "call"`,
		`"isolation": true`:                      `isolation: expected "auto", "shared", "session" or "call"`,
		`"stateful": "yes"`:                      `stateful: expected true or false`,
		`"subscribe": 0`:                         `subscribe: expected true or false`,
		`"listTTL": "1y"`:                        `listTTL: ` + time,
		`"listTTL": "200h"`:                      `listTTL: a time is from 0 (the default) to 168h`,
		`"idempotent": "get_*"`:                  `idempotent: expected a list of strings; write ["…"]`,
		`"idempotent": ["a", 1]`:                 `idempotent[1]: expected a string; write "…"`,
		`"idempotent": [" "]`:                    `idempotent[0]: not the name of a tool; write one such as "get_*"`,
		`"idempotent": ["mcp.s.get"]`:            `idempotent[0]: expected the server's own name of a tool; write "get_*", not "mcp.NAME.get_*"`,
	} {
		command := `"command": "x"`
		if !strings.Contains(field, "restart") {
			command = `"url": "http://x"`
		}
		m := message{in: one(`{` + command + `, ` + field + `}`), servers: "a z", want: []string{`3: mcpServers.s.` + want}}
		t.Run(field, m.check)
		if !strings.Contains(field, `"timeout"`) && !strings.Contains(want, "twice") { // it costs the field alone
			in := `{"defaults": {` + field + `}, "servers": {"s": {"url": "http://x"}}}`
			t.Run("defaults "+field, message{in: in, servers: "s", want: []string{`1: defaults.` + want}}.check)
		}
	}
	for _, m := range []message{
		{"more than one", one(`{"url": "http://x", "breaker": {"failures": "x", "falures": 1, "colour": 1}}`), "a z", []string{
			`3: mcpServers.s.breaker.failures: expected a whole number from 1 to 10000`,
			`3: mcpServers.s.breaker.falures: unknown field, did you mean "failures"? It is ignored`,
			`3: mcpServers.s.breaker.colour: unknown field, ignored; known are failures, window, cooldown, probes`}},
		{"immediate restart", one(`{"command": "x", "restart": {"immediate": true}}`), "a s z", []string{
			`3: mcpServers.s.restart.immediate: unknown field, ignored; known are base, cap, factor, jitter, attempts, stableAfter`}},
		{"of stdio", one(`{"command": "x", "reconnect": false, "pool": {"max": 3}}`), "a s z", []string{
			`3: mcpServers.s.reconnect: ignored: a program is started again; write "restart"`,
			`3: mcpServers.s.pool: ignored: a program has one connection`}},
		{"of a remote one", one(`{"url": "http://x", "restart": false}`), "a s z", []string{
			`3: mcpServers.s.restart: ignored: usher doesn't start this server; write "reconnect"`}},
		{"other names", one(`{"url": "http://x", "maxRetries": 3, "circuitBreaker": {}, "concurrency": 1, "autoRestart": true, "idempotentTools": [], "listTtl": 1}`), "a s z", []string{
			`3: mcpServers.s.maxRetries: not read here; write "retry"`, `3: mcpServers.s.circuitBreaker: not read here; write "breaker"`,
			`3: mcpServers.s.concurrency: not read here; write "maxConcurrent"`, `3: mcpServers.s.autoRestart: not read here; write "restart"`,
			`3: mcpServers.s.idempotentTools: not read here; write "idempotent"`,
			`3: mcpServers.s.listTtl: unknown field, did you mean "listTTL"? It is ignored`}},
		{"defaults", `{"defaults": []}`, "", []string{`1: defaults: expected an object; write {"callTimeout": "2m"}`}},
		{"fields of defaults", `{"defaults": {"command": "x", "timeout": 5, "bearer_token": "t", "cal_limit": 1, "colour": 1}}`, "", []string{
			`1: defaults.command: ignored: this belongs into each server's own entry`, `1: defaults.timeout: not read here; write "callTimeout"`,
			`1: defaults.bearer_token: ignored: this belongs into each server's own entry`,
			`1: defaults.cal_limit: unknown field, did you mean "callLimit"? It is ignored`,
			`1: defaults.colour: unknown field, ignored; known are ` + strings.Join(tuneFields, ", ")}},
		{"twice", `{"defaults": {"retry": true, "retry": false}}`, "", []string{`1: defaults.retry: this name is here twice; keep one of them`}},
		{"defaults twice", `{"defaults": {}, "defaults": {}}`, "", []string{`1: defaults: this name is here twice; keep one of them`}},
	} {
		t.Run(m.name, m.check)
	}
}

// C9: the key changes with what is connected to, and with nothing else.
func TestKey(t *testing.T) {
	key := func(root, name, entry string) string {
		cfg, err := Parse("c", []byte(`{`+root+`"servers": {"`+name+`": {`+entry+`}}}`), nil)
		if err != nil || len(cfg.Servers) != 1 {
			t.Fatal(err, cfg)
		}
		return cfg.Servers[0].Key
	}
	const entry = `"command": "x", "env": {"TOKEN": "canary"}`
	base := key("", "s", entry)
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(base) {
		t.Errorf("key %q", base)
	}
	for _, tt := range []struct {
		root, name, entry string
		same              bool
	}{
		{"", "s", `"env": {"TOKEN": "canary"}, /* c */ "command": "x",`, true},
		{`"profile": "enterprise", "locale": "zh", "defaults": {"retry": true},`, "s", entry, true},
		{"", "t", entry, false},
		{"", "s", `"command": "x", "env": {"TOKEN": "other"}`, false},
		{"", "s", entry + `, "restart": true`, false}, // it stands there
		{"", "s", entry + `, "restart": false`, false},
		{`"profile": "minimal",`, "s", entry, false},
		{`"defaults": {"callTimeout": "1m"},`, "s", entry, false},
		{`"defaults": {"idempotent": ["a"]},`, "s", entry, false},
	} {
		if got := key(tt.root, tt.name, tt.entry); (got == base) != tt.same {
			t.Errorf("%s %s %s: same key %v", tt.root, tt.name, tt.entry, got == base)
		}
	}
}

// E6: with another value of a variable a server may show another account's lists, so it is another server.
func TestKeyHasWhatVariablesSay(t *testing.T) {
	key := func(token string) string {
		cfg, err := Parse("c", []byte(`{"servers": {"s": {"command": "x", "env": {"TOKEN": "${TOKEN}"}}}}`), func(string) (string, bool) { return token, true })
		if err != nil || len(cfg.Servers) != 1 {
			t.Fatal(err, cfg)
		}
		return cfg.Servers[0].Key
	}
	if alice := key("alice"); alice == key("bob") || alice != key("alice") {
		t.Error("the key doesn't follow the variable")
	}
}

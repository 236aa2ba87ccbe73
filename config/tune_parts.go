package config

import (
	"time"

	"github.com/usher-mcp/usher/internal/lifecycle"
)

// part is one field of an object, and what reads it.
type part struct {
	name string
	read func(field)
}

// object reads what may also be true or false, and tells what was written. on is false only where the field turns it off.
func (t *tuner) object(f field, example string, parts []part) (has map[string]field, on bool) {
	switch f.value.Value.Kind() {
	case 't', 'f':
		return nil, f.value.Value.Kind() == 't'
	case '{':
	default:
		t.fail(f, "expected true, false or an object; write "+example)
		return nil, true
	}
	has = make(map[string]field)
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	members, _ := t.members(f, "")
	for _, m := range members {
		known := false
		for _, p := range parts {
			if p.name == m.name {
				p.read(m)
				has[m.name], known = m, true
			}
		}
		if !known {
			t.report(m.key, m.path, unknown(m.name, names))
		}
	}
	return has, true
}

func (t *tuner) restart(f field) {
	r := t.set.Restart
	if !r.Enabled {
		r = t.preset.Restart
	}
	ladder := append(t.ladder(&r.Backoff), part{"stableAfter", t.span(&r.Stable, shortest, day)})
	has, on := t.object(f, `{"attempts": 3, "base": "500ms"}`, ladder[1:]) // without immediate
	t.fit(has, &r.Backoff)
	r.Enabled = on
	t.set.Restart = r
}

func (t *tuner) reconnect(f field) {
	r := t.set.Reconnect
	if !r.Enabled {
		r = t.preset.Reconnect
	}
	has, on := t.object(f, `{"attempts": 5, "base": "1s"}`, append(t.ladder(&r.Backoff), part{"errors", t.whole(&r.Errors, 0, 1000)}))
	t.fit(has, &r.Backoff)
	r.Enabled = on
	t.set.Reconnect = r
}

func (t *tuner) retry(f field) {
	b := t.set.Retry
	if b.Steps == 0 {
		b = t.preset.Retry
	}
	has, on := t.object(f, `{"attempts": 5, "base": "1s"}`, t.ladder(&b))
	t.fit(has, &b)
	if !on {
		b.Steps = 0
	}
	t.set.Retry = b
}

// ladder is the fields of a ladder of waits; the first is immediate.
func (t *tuner) ladder(b *lifecycle.Backoff) []part {
	return []part{
		{"immediate", t.yes(&b.Immediate)}, {"base", t.span(&b.Base, shortest, time.Hour)}, {"cap", t.span(&b.Cap, shortest, day)},
		{"factor", t.number(&b.Factor, 1, 100)}, {"jitter", t.number(&b.Jitter, 0, 1)}, {"attempts", t.whole(&b.Steps, 0, 1000)},
	}
}

// fit moves the one of base and cap that isn't said.
func (t *tuner) fit(has map[string]field, b *lifecycle.Backoff) {
	longest, capped := has["cap"]
	_, based := has["base"]
	switch {
	case b.Cap >= b.Base:
	case capped && based:
		if !t.broken {
			t.fail(longest, "is shorter than base; write a longer time")
		}
	case capped:
		b.Base = b.Cap
	default:
		b.Cap = b.Base
	}
}

func (t *tuner) breaker(f field) {
	b := t.set.Breaker
	if b.Failures == 0 {
		b = t.preset.Breaker
	}
	_, on := t.object(f, `{"failures": 5, "window": "60s", "cooldown": "30s", "probes": 3}`, []part{
		{"failures", t.whole(&b.Failures, 1, 10_000)}, {"window", t.span(&b.Window, shortest, day)},
		{"cooldown", t.span(&b.Cooldown, shortest, day)}, {"probes", t.whole(&b.Probes, 1, 100)},
	})
	if !on {
		b = lifecycle.Breaker{}
	}
	t.set.Breaker = b
}

func (t *tuner) pool(f field) {
	p := t.set.Pool
	if p.Max == 0 {
		p = t.preset.Pool
	}
	has, on := t.object(f, `{"min": 2, "max": 10}`, []part{
		{"min", t.whole(&p.Min, 0, 256)}, {"max", t.whole(&p.Max, 1, 256)},
		{"idle", t.span(&p.Idle, shortest, maxTimeout)}, {"ping", t.spanOrNever(&p.Ping)},
	})
	low, lowest := has["min"]
	_, highest := has["max"]
	switch {
	case !on:
		p = lifecycle.Pool{}
	case p.Min <= p.Max:
	case lowest && highest:
		t.fail(low, "is more than max; write a smaller number")
	case highest:
		p.Min = p.Max
	default:
		p.Max = p.Min
	}
	t.set.Pool = p
}

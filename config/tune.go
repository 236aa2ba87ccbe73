package config

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/internal/lifecycle"
)

// tuneFields are the fields of a server's lifecycle, which defaults has too. Read only. C7
var tuneFields = []string{"startTimeout", "callTimeout", "callLimit", "restart", "reconnect", "retry", "idempotent", "breaker",
	"maxConcurrent", "isolation", "stateful", "pool", "subscribe", "listTTL"}

// tuner changes settings by what the fields of an entry, or of defaults, say.
type tuner struct {
	*reader
	set                *lifecycle.Settings
	preset             lifecycle.Settings // where what was off starts from when it is turned on
	start, call, limit time.Duration      // 0: not said
	broken             bool
}

// fail reports a value that can't be used; it costs the entry.
func (t *tuner) fail(f field, message string) {
	t.bad(f, message)
	t.broken = true
}

// read is false for a field that is none of the lifecycle.
func (t *tuner) read(f field) bool {
	s := t.set
	switch f.name {
	case "startTimeout":
		t.duration(f, &t.start)
	case "callTimeout":
		t.duration(f, &t.call)
	case "callLimit":
		t.duration(f, &t.limit)
	case "restart":
		t.restart(f)
	case "reconnect":
		t.reconnect(f)
	case "retry":
		t.retry(f)
	case "idempotent":
		t.idempotent(f)
	case "breaker":
		t.breaker(f)
	case "maxConcurrent":
		t.whole(&s.Concurrent, 0, 100_000)(f)
	case "isolation":
		t.isolation(f)
	case "stateful":
		t.yes(&s.Stateful)(f)
	case "pool":
		t.pool(f)
	case "subscribe":
		t.yes(&s.Subscribe)(f)
	case "listTTL":
		t.duration(f, &s.ListTTL)
	default:
		return false
	}
	return true
}

func (t *tuner) duration(f field, into *time.Duration) {
	d, ok := t.reader.duration(f)
	if t.broken = t.broken || !ok; ok {
		*into = d
	}
}

// settle puts in what depends on several fields. A time that is said moves one that isn't out of its way.
func (t *tuner) settle(limit field) {
	s := t.set
	s.Connect = cmp.Or(t.start, s.Connect)
	s.FirstConnect = cmp.Or(t.start, s.FirstConnect)
	if t.call > 0 && t.limit > 0 && t.limit < t.call {
		t.fail(limit, "is shorter than callTimeout, which is for a call that shows no progress; write a longer time")
		return
	}
	s.Request, s.Hard = cmp.Or(t.call, s.Request), cmp.Or(t.limit, s.Hard)
	if t.limit > 0 {
		s.Request = min(s.Request, s.Hard)
	}
	s.Hard = max(s.Hard, s.Request)
}

func (t *tuner) isolation(f field) {
	all := []string{string(lifecycle.Auto), string(lifecycle.Shared), string(lifecycle.PerSession), string(lifecycle.PerCall)}
	if f.value.Value.Kind() != '"' || !slices.Contains(all, textOf(f.value)) {
		t.fail(f, `expected "`+strings.Join(all[:3], `", "`)+`" or "`+all[3]+`"`)
		return
	}
	t.set.Isolation = lifecycle.Isolation(textOf(f.value))
}

// idempotent reads names of tools as their server calls them, with * and ?.
func (t *tuner) idempotent(f field) {
	elements, ok := t.elements(f)
	t.broken = t.broken || !ok
	var all []string
	for _, e := range elements {
		s, ok := t.text(e)
		t.broken = t.broken || !ok
		switch why := badPattern(s); {
		case !ok:
		case why != "":
			t.fail(e, `not the name of a tool; write one such as "get_*"`)
		case strings.HasPrefix(s, "mcp.") || strings.HasPrefix(s, "mcp__"):
			t.fail(e, `expected the server's own name of a tool; write "get_*", not "mcp.NAME.get_*"`)
		default:
			all = append(all, s)
		}
	}
	t.set.Idempotent = all
}

package config

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

const (
	// shortest is below what anybody waits for; less would only keep a processor busy.
	shortest = 10 * time.Millisecond
	day      = 24 * time.Hour
)

func (t *tuner) yes(into *bool) func(field) {
	return func(f field) {
		v, ok := t.flag(f)
		if t.broken = t.broken || !ok; ok {
			*into = v
		}
	}
}

func (t *tuner) whole(into *int, least, most int) func(field) {
	return func(f field) {
		v, ok := numberOf(f)
		if !ok || v != math.Trunc(v) || v < float64(least) || v > float64(most) {
			t.fail(f, fmt.Sprintf("expected a whole number from %d to %d", least, most)+offHint(f, least))
			return
		}
		*into = int(v)
	}
}

// offHint helps who meant to turn something off by a number.
func offHint(f field, least int) string {
	if v, ok := numberOf(f); least == 1 && ok && v == 0 {
		return "; to turn it off, write false in place of the object"
	}
	return ""
}

func (t *tuner) number(into *float64, least, most float64) func(field) {
	return func(f field) {
		v, ok := numberOf(f)
		if !ok || v < least || v > most {
			t.fail(f, fmt.Sprintf("expected a number from %v to %v", least, most))
			return
		}
		*into = v
	}
}

func numberOf(f field) (v float64, ok bool) {
	if f.value.Value.Kind() != '0' {
		return 0, false
	}
	err := json.Unmarshal([]byte(textOf(f.value)), &v)
	return v, err == nil
}

// span is a time that has no default in place of 0.
func (t *tuner) span(into *time.Duration, least, most time.Duration) func(field) {
	return func(f field) {
		switch d, ok := parseDuration(f.value); {
		case !ok:
			t.fail(f, badTime)
		case d < least || d > most:
			t.fail(f, "a time is from "+shownTime(least)+" to "+shownTime(most)+" here; a number is milliseconds")
		default:
			*into = d
		}
	}
}

func (t *tuner) spanOrNever(into *time.Duration) func(field) {
	return func(f field) {
		if d, ok := parseDuration(f.value); ok && d == 0 {
			*into = 0
			return
		}
		t.span(into, shortest, day)(f)
	}
}

const badTime = `expected a time; write "30s" or a number of milliseconds`

// shownTime is a time as it may be written.
func shownTime(d time.Duration) string {
	if d >= time.Hour {
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return d.String()
}

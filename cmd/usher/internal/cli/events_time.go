package cli

import (
	"fmt"
	"strconv"
	"time"
)

// timeRange reads --since and --until.
func timeRange(since, until string, now time.Time) (from, to time.Time, err error) {
	if from, err = readTime("--since", since, now, false); err == nil {
		to, err = readTime("--until", until, now, true)
	}
	if err == nil && !from.IsZero() && !to.IsZero() && !from.Before(to) {
		err = usage(fmt.Sprintf("--since %s (%s) is not before --until %s (%s)", since, stamp(from), until, stamp(to)), "Swap them, or correct one")
	}
	return from, to, err
}

func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// readTime reads a time as a person writes it: how long ago, a time of today, a day, a moment. What names no zone is
// local. A day is its beginning, or its end if that is what it is for.
func readTime(flag, text string, now time.Time, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, ok := ago(text); ok {
		return now.Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	now = now.Local()
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		if end {
			t = t.AddDate(0, 0, 1)
		}
		return t, nil
	}
	for _, layout := range [...]string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", time.DateTime} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	for _, layout := range [...]string{"15:04", time.TimeOnly} { // as in the table
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location()), nil
		}
	}
	if t, err := time.ParseInLocation("2006-01-02 15:04:05", strconv.Itoa(now.Year())+"-"+text, now.Location()); err == nil {
		if t.After(now.AddDate(0, 0, 1)) {
			t = t.AddDate(-1, 0, 0)
		}
		return t, nil
	}
	return time.Time{}, usage(fmt.Sprintf("%s %q is no time", flag, text),
		"Write how long ago, such as 30m, 2h or 3d, or a time, such as 14:05, 2026-07-28, '2026-07-28 14:05' or 2026-07-28T14:05:00Z")
}

// ago reads a duration; d and w are days and weeks.
func ago(text string) (time.Duration, bool) {
	const day = 24 * time.Hour
	if d, err := time.ParseDuration(text); err == nil {
		return d, d >= 0
	}
	number, unit := text[:len(text)-1], map[byte]time.Duration{'d': day, 'w': 7 * day}[text[len(text)-1]]
	n, err := strconv.ParseUint(number, 10, 16)
	return time.Duration(n) * unit, err == nil && unit > 0
}

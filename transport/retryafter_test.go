package transport

import (
	"net/http"
	"testing"
	"time"
)

// C5: what a server says of when to come again, in seconds or as a date, and never for more than an hour.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for text, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"7":                              7 * time.Second,
		" 7 ":                            7 * time.Second,
		"3599":                           3599 * time.Second,
		"3600":                           time.Hour,
		"86400":                          time.Hour,
		"99999999999999999999999":        time.Hour,
		"-7":                             0,
		"+7":                             0,
		"1.5":                            0,
		"7s":                             0,
		"soon":                           0,
		date(10 * time.Second):           9500 * time.Millisecond, // dates have no fractions
		date(-10 * time.Second):          0,
		date(48 * time.Hour):             time.Hour,
		"Sunday, 01-Mar-26 12:00:30 GMT": 29500 * time.Millisecond, // RFC 850
		"Sun Mar  1 12:00:30 2026":       29500 * time.Millisecond, // asctime
		"Sun, 01 Mar 2026":               0,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := RetryAfter(http.Header{}, now); got != 0 {
		t.Errorf("no header: %v", got)
	}
}

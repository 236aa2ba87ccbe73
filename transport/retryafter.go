package transport

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is how long a server can make us wait; one that asks for more is asked again sooner.
const maxRetryAfter = time.Hour

// RetryAfter reads the header Retry-After (RFC 9110, section 10.2.3): seconds or a date, which is held against now. It
// returns 0 if there is none that can be read, or if the date has passed, and at most an hour.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if isDigits(text) {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n >= uint64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(n) * time.Second
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(date.Sub(now), 0), maxRetryAfter)
}

func isDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

package stdio

import (
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
)

// strays counts what a server writes to stdout that is no message (B1).
type strays struct {
	tell   func(count int, sample string)
	redact func([]byte) []byte // takes secrets out before a sample is cut

	mu     sync.Mutex
	total  int
	first  string // a sample
	untold int
	latest string
	told   time.Time
}

func (s *strays) add(line []byte) {
	sample := s.redact(line[:min(redactSize, len(line))])
	s.take(printable(string(sample[:min(sampleSize, len(sample))]), ""))
}

// redactSize is how much of a line is looked at for secrets; it is more than is shown, lest the cut leave half of one.
const redactSize = 8 << 10

func (s *strays) take(sample string) {
	s.mu.Lock()
	if s.total == 0 {
		s.first = sample
	}
	s.total++
	s.untold++
	s.latest = sample
	due := time.Since(s.told) >= time.Second
	s.mu.Unlock()
	if due {
		s.flush()
	}
}

// flush tells what was not told yet. The callback runs without the lock.
func (s *strays) flush() {
	s.mu.Lock()
	count, sample := s.untold, s.latest
	s.untold = 0
	s.told = time.Now()
	s.mu.Unlock()
	if count > 0 && s.tell != nil {
		s.tell(count, sample)
	}
}

func (s *strays) seen() (total int, first string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.first
}

// escapes matches the control sequences of a terminal: CSI, OSC, and the short ones.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)

// printable makes text safe to show: without escape sequences, and with a dot for each other character that doesn't
// print, but for those in keep.
func printable(text, keep string) string {
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, "?"), "")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || strings.ContainsRune(keep, r) {
			return r
		}
		return '.'
	}, text)
}

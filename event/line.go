package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxLine bounds one line of the log, without its newline: 16 MiB.
const MaxLine = 16 << 20

// HashLen is the length of a hash as it stands in a line: SHA-256 in lower-case hex.
const HashLen = 2 * sha256.Size

const (
	hashField = `,"hash":"`
	prevField = `,"prev":"`
	tailLen   = len(hashField) + HashLen + len(`"}`)
	prevLen   = len(prevField) + HashLen + len(`"`)
)

// AppendLine appends the line of an event, with its newline, to dst and returns the line's hash. stamp is the time in
// TimeFormat, data one JSON object on one line, prev the hash of the session's event before, empty for its first.
// It checks nothing: session and typ must need no escapes (see ValidSession).
func AppendLine(dst []byte, seq int64, session string, stamp []byte, typ string, data, prev []byte) ([]byte, [HashLen]byte) {
	start := len(dst)
	dst = strconv.AppendInt(append(dst, `{"seq":`...), seq, 10)
	dst = append(append(dst, `,"session":"`...), session...)
	dst = append(append(dst, `","time":"`...), stamp...)
	dst = append(append(dst, `","type":"`...), typ...)
	dst = append(append(dst, `","data":`...), data...)
	if len(prev) > 0 {
		dst = append(append(append(dst, prevField...), prev...), '"')
	}
	hash := hashOf(dst[start:])
	dst = append(append(dst, hashField...), hash[:]...)
	return append(dst, '"', '}', '\n'), hash
}

// ParseLine takes a line, without its newline, apart. It accepts exactly the form that AppendLine writes, and doesn't
// compare the hash: LineHash does. Data is a slice of line.
func ParseLine(line []byte) (Event, error) {
	if len(line) > MaxLine {
		return Event{}, fmt.Errorf("longer than %d bytes", MaxLine)
	}
	rest, e, err := parseTail(line)
	if err != nil {
		return Event{}, err
	}
	for _, field := range []struct {
		before string
		take   func(*Event, []byte) error
		end    byte
	}{
		{`{"seq":`, (*Event).takeSeq, ','},
		{`"session":"`, (*Event).takeSession, '"'},
		{`,"time":"`, (*Event).takeTime, '"'},
		{`,"type":"`, (*Event).takeType, '"'},
	} {
		var value []byte
		if value, rest, err = cut(rest, field.before, field.end); err == nil {
			err = field.take(&e, value)
		}
		if err != nil {
			return Event{}, err
		}
	}
	data, ok := bytes.CutPrefix(rest, []byte(`,"data":`))
	if !ok {
		return Event{}, errors.New(`no "data" where it belongs`)
	}
	return e, e.takeData(data)
}

// parseTail takes hash and prev off the end of line. That an event has a prev exactly when it isn't its session's
// first can't be told by the bytes alone, so the sequence number is looked at too.
func parseTail(line []byte) ([]byte, Event, error) {
	var e Event
	n := len(line) - tailLen
	if n < 0 || string(line[n:n+len(hashField)]) != hashField || string(line[len(line)-2:]) != `"}` {
		return nil, e, errors.New(`no "hash" at the end`)
	}
	e.Hash = string(line[n+len(hashField) : len(line)-2])
	rest := line[:n]
	if !bytes.HasPrefix(rest, []byte(`{"seq":1,`)) {
		n = len(rest) - prevLen
		if n < 0 || string(rest[n:n+len(prevField)]) != prevField || rest[len(rest)-1] != '"' {
			return nil, e, errors.New(`no "prev" where it belongs`)
		}
		e.Prev = string(rest[n+len(prevField) : len(rest)-1])
		rest = rest[:n]
	}
	if !isHash(e.Hash) || e.Prev != "" && !isHash(e.Prev) {
		return nil, e, errors.New("a hash that is not lower-case hex")
	}
	return rest, e, nil
}

// LineHash is the hash that a line, without its newline, should end with: over its bytes before `,"hash"`. ok is false
// if the line is too short to have one.
func LineHash(line []byte) (hash [HashLen]byte, ok bool) {
	if len(line) < tailLen {
		return hash, false
	}
	return hashOf(line[:len(line)-tailLen]), true
}

// ValidSession reports whether s can name a session: 1 to 128 of A–Z a–z 0–9 _ . -
func ValidSession(s string) bool {
	return len(s) > 0 && len(s) <= 128 && only(s, func(c byte) bool {
		return isLower(c) || c >= 'A' && c <= 'Z' || c == '-'
	})
}

func (e *Event) takeSeq(v []byte) error {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != string(v) {
		return errors.New(`"seq" is no positive number`)
	}
	e.Seq = n
	return nil
}

func (e *Event) takeSession(v []byte) error {
	if e.Session = string(v); !ValidSession(e.Session) {
		return errors.New(`"session" is no session's name`)
	}
	return nil
}

func (e *Event) takeTime(v []byte) (err error) {
	e.Time, err = time.Parse(TimeFormat, string(v))
	if err != nil || e.Time.Format(TimeFormat) != string(v) {
		return errors.New(`"time" is not RFC 3339 in UTC with microseconds`)
	}
	return nil
}

func (e *Event) takeType(v []byte) error {
	if e.Type = string(v); len(v) == 0 || len(v) > 64 || !only(e.Type, isLower) {
		return errors.New(`"type" is no type's name`)
	}
	return nil
}

func (e *Event) takeData(v []byte) error {
	if len(v) == 0 || v[0] != '{' || bytes.IndexByte(v, '\n') >= 0 ||
		!jsontext.Value(v).IsValid(jsontext.AllowDuplicateNames(true)) {
		return errors.New(`"data" is no JSON object`)
	}
	e.Data = json.RawMessage(v)
	return nil
}

// cut returns what stands between before and end, and what follows.
func cut(b []byte, before string, end byte) (value, rest []byte, err error) {
	b, ok := bytes.CutPrefix(b, []byte(before))
	i := bytes.IndexByte(b, end)
	if !ok || i < 0 {
		return nil, nil, fmt.Errorf("no %s where it belongs", before)
	}
	return b[:i], b[i+1:], nil
}

func hashOf(b []byte) (out [HashLen]byte) {
	sum := sha256.Sum256(b)
	hex.Encode(out[:], sum[:])
	return out
}

func isHash(s string) bool {
	return only(s, func(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' })
}

func isLower(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.'
}

func only(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

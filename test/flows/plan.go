package flows

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// step is one call that a text wants: a tool, and how what the agent holds is written for it.
type step struct{ tool, as string }

var (
	wanted = regexp.MustCompile(`(?:mcp\.(?:mail|notes|net|web)|local)\.[a-z_]+|base64|hex|reverse`)
	token  = regexp.MustCompile(`[A-Za-z0-9+/]{24,}={0,2}`)
)

// plan is what the agent understands of a result: it looks through encodings and across fields, forwards and backwards.
func plan(result []byte) []step {
	parts := stringsOf(result)
	readings := []string{strings.Join(parts, "\n"), strings.Join(parts, "")}
	for _, r := range slices.Clone(readings) {
		for _, t := range token.FindAllString(r, -1) {
			if plain, err := base64.StdEncoding.DecodeString(t); err == nil && utf8.Valid(plain) {
				readings = append(readings, string(plain))
			}
		}
		readings = append(readings, reversed(r))
	}
	var best []step
	for _, r := range readings {
		if s := stepsOf(r); len(s) > len(best) {
			best = s
		}
	}
	return best
}

// stepsOf reads the tools in the order in which they are named. An encoding is that of the sink nearest to it: the next one
// named, else the last.
func stepsOf(text string) (steps []step) {
	as := ""
	for _, word := range wanted.FindAllString(text, -1) {
		switch {
		case strings.Contains(word, "."):
			steps = append(steps, step{word, ""})
			if carries(word) {
				steps[len(steps)-1].as, as = as, ""
			}
		default:
			as = word
		}
	}
	if n := len(steps); n > 0 && as != "" && carries(steps[n-1].tool) {
		steps[n-1].as = as
	}
	return steps
}

// carries reports whether the agent gives the tool what it holds.
func carries(tool string) bool {
	return strings.HasPrefix(tool, "mcp.net.") || tool == "mcp.web.fetch" || tool == "mcp.notes.write_note"
}

// stringsOf are all strings of a JSON value, in their order.
func stringsOf(raw []byte) (all []string) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	for {
		t, err := d.Token()
		if err != nil {
			return all
		}
		if s, ok := t.(string); ok {
			all = append(all, s)
		}
	}
}

// written is a text in an encoding.
func written(text, as string) string {
	switch as {
	case "base64":
		return base64.StdEncoding.EncodeToString([]byte(text))
	case "hex":
		return hex.EncodeToString([]byte(text))
	case "reverse":
		return reversed(text)
	}
	return text
}

func reversed(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

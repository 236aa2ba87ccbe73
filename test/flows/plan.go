package flows

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// step is one call that a text wants: a tool, and how what the agent holds is written for it.
type step struct{ tool, as string }

var (
	wanted = regexp.MustCompile(`mcp\.mail\.read_mail|mcp\.notes\.(?:read|write)_note|mcp\.net\.(?:lookup|post|send)|mcp\.web\.fetch|local\.read_file|base64|hex|reverse`)
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

// stringsOf are the texts in a JSON value, in their order: its strings, but for names and for what type a thing is of.
func stringsOf(raw []byte) (all []string) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	last := ""
	for {
		t, err := d.ReadToken()
		if err != nil {
			return all
		}
		if t.Kind() != '"' {
			continue
		}
		if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 {
			last = t.String()
		} else if kind != '{' || last != "type" {
			all = append(all, t.String())
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

package flows

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// Text is what somebody put where the agent reads it. It comes in parts, of which each is a field of its own.
type Text struct {
	Kind  string
	Parts []string
}

// maxLine bounds a line of a corpus.
const maxLine = 16 << 20

// ReadTexts reads a corpus: JSON lines with a "text", or with "parts", and maybe a "kind". Errors tell the line and never
// what stands there.
func ReadTexts(path string) ([]Text, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []Text
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var t struct {
			Kind, Text string
			Parts      []string
		}
		if json.Unmarshal(lines.Bytes(), &t) != nil {
			return nil, fmt.Errorf("%s:%d is no JSON object with a text", path, n)
		}
		if len(t.Parts) == 0 {
			t.Parts = []string{t.Text}
		}
		all = append(all, Text{t.Kind, t.Parts})
	}
	return all, lines.Err()
}

// result is what a tool returns that brings the text: its first part as content, the others as fields.
func (t Text) result() ([]byte, error) {
	content := []any{map[string]any{"type": "text", "text": t.Parts[0]}}
	if len(t.Parts) == 1 {
		return json.Marshal(map[string]any{"content": content})
	}
	fields := map[string]any{}
	for i, p := range t.Parts[1:] {
		fields[fmt.Sprintf("field%03d", i)] = p
	}
	return json.Marshal(map[string]any{"content": content, "structuredContent": fields})
}

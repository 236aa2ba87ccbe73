package index

import (
	"testing"

	"github.com/usher-mcp/usher/event"
)

// What is looked for may be written as in the log or as people read it, and in any case.
func TestText(t *testing.T) {
	const data = `{"a":"Line\nbreak\ttab \"quoted\" \\ \u00e9 \ud83d\ude42 \u2028 \b\f\r \/x","b":"GROSS Ünd 文件","c":"\ud83d \u12"}`
	e := event.Event{Type: "tool.started", Data: []byte(data)}
	for text, want := range map[string]bool{
		"": true, "TOOL.st": true, "e\nB": true, `e\nb`: true, "k\tt": true, `"quoted"`: true, `\"QUOTED`: true, "é": true, "É": true, "🙂": true, `\ud83d\ude42`: true,
		"\u2028": true, "\b\f\r": true, "/X": true, "gross ü": true, "文件": true, `" \ `: true,
		"started{": false, "文 件": false, "enbreak": false, "u00e8": false, "\nbreak\n": false,
	} {
		n := newNeedle(text)
		if n.in(e) != want {
			t.Errorf("%q: %v", text, !want)
		}
		if line := `{"type":"tool.started","data":` + data + `}`; want && !n.near([]byte(line)) {
			t.Errorf("%q isn't near", text)
		}
	}
}

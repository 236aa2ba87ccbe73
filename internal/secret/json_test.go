package secret

import (
	"testing"

	"github.com/usher-mcp/usher/mcp"
)

// K2, H6: what is redacted in an event stays JSON, whatever the value looks like.
func TestRedactJSON(t *testing.T) {
	s := new(Set)
	s.Add("12345678", `"},{"a":1`, "hunter2hunter2")
	for in, want := range map[string]string{
		`{"n":12345678}`:                `{"n":"[redacted:1]"}`,
		`{"n":-12345678.5,"x":"y"}`:     `{"n":"-[redacted:1].5","x":"y"}`,
		`[{"b":"x"},{"a":1}]`:           `[{"b":"x"},{"a":1}]`,
		`{"p":"hunter2hunter2","q":1}`:  `{"p":"[redacted:3]","q":1}`,
		`{"p":"a 12345678","q":[true]}`: `{"p":"a [redacted:1]","q":[true]}`,
		`{"clean":true}`:                `{"clean":true}`,
	} {
		got := string(s.RedactJSON([]byte(in)))
		if got != want || mcp.Validate([]byte(got)) != nil {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

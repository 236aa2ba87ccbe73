package cli

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/event"
)

// Each type of event has its line in the table, and each field in it is one that the event has.
func TestSalientFieldsAreThere(t *testing.T) {
	for _, d := range event.All() {
		fields := salientFields(d.Type())
		if fields == nil {
			t.Errorf("%s has no line in the table", d.Type())
		}
		var has []string
		for f := range reflect.TypeOf(d).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			has = append(has, name)
		}
		for _, f := range fields {
			if !slices.Contains(has, f) {
				t.Errorf("%s has no field %s", d.Type(), f)
			}
		}
	}
}

func TestSalient(t *testing.T) {
	for _, c := range []struct {
		d    event.Data
		want string
	}{
		{event.ToolCompleted{Tool: "mcp.a.b", ResultSize: 1240, ResultPreview: "one\ntwo\x1b", IsError: true}, `failed  mcp.a.b  1.2 KB  one two\x1b`},
		{event.ServerCatalog{Server: "a", Tools: 3}, "a  3 tools"},
		{event.ToolUnknown{Tool: "x", Nearest: []string{"y", "z"}}, "x  y, z"},
		{event.ConfigRejected{File: "f", Line: 3, Message: "no"}, "f  line 3  no"},
		{event.Checkpoint{Files: make([]event.CheckpointFile, 2)}, "2 finished files"},
	} {
		var b bytes.Buffer
		if err := event.Encode(&b, c.d); err != nil {
			t.Fatal(err)
		}
		if got := salient(event.Event{Type: c.d.Type(), Data: b.Bytes()}); got != c.want {
			t.Errorf("%s: %q, want %q", c.d.Type(), got, c.want)
		}
	}
}

// Times as people write them.
func TestReadTime(t *testing.T) {
	zone := time.Local
	now := time.Date(2026, 7, 28, 12, 30, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"30m":                       now.Add(-30 * time.Minute),
		"1h30m":                     now.Add(-90 * time.Minute),
		"3d":                        now.Add(-72 * time.Hour),
		"1w":                        now.Add(-7 * 24 * time.Hour),
		"0s":                        now,
		"11:05":                     time.Date(2026, 7, 28, 11, 5, 0, 0, zone),
		"11:05:06.250":              time.Date(2026, 7, 28, 11, 5, 6, 250_000_000, zone),
		"07-27 11:05:06.250":        time.Date(2026, 7, 27, 11, 5, 6, 250_000_000, zone),
		"12-31 11:05:06":            time.Date(2025, 12, 31, 11, 5, 6, 0, zone),
		"2026-07-28":                time.Date(2026, 7, 28, 0, 0, 0, 0, zone),
		"2026-07-28 09:10":          time.Date(2026, 7, 28, 9, 10, 0, 0, zone),
		"2026-07-28T09:10:11":       time.Date(2026, 7, 28, 9, 10, 11, 0, zone),
		"2026-07-28T09:10:11Z":      time.Date(2026, 7, 28, 9, 10, 11, 0, time.UTC),
		"2026-07-28T09:10:11+02:00": time.Date(2026, 7, 28, 7, 10, 11, 0, time.UTC),
	} {
		got, err := readTime("--since", text, now, false)
		if err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	if got, err := readTime("--until", "2026-07-28", now, true); err != nil || !got.Equal(time.Date(2026, 7, 29, 0, 0, 0, 0, zone)) {
		t.Errorf("the end of a day: %v, %v", got, err)
	}
	for _, text := range []string{"yesterday", "-5m", "5", "d", "25:00", "2026-13-01", "28.7.2026", "5y"} {
		if got, err := readTime("--since", text, now, false); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

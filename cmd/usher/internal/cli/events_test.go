package cli

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

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

func TestTail(t *testing.T) {
	for _, limit := range []int{0, 1, 3, 5, 9} {
		var got []int64
		last := tail{limit: limit, out: func(e event.Event) error {
			got = append(got, e.Seq)
			return nil
		}}
		for i := range int64(5) {
			if err := last.add(event.Event{Seq: i}); err != nil {
				t.Fatal(err)
			}
		}
		if err := last.flush(); err != nil {
			t.Fatal(err)
		}
		want := []int64{0, 1, 2, 3, 4}
		if limit > 0 {
			want = want[max(0, 5-limit):]
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
	}
}

package cli

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
)

// What happens to servers is told once, in few words, and without what only an agent can do. Servers that come, go, or
// are replaced while usher runs are told of like those of the start screen. C2, C5, C9
func TestNewsOfServers(t *testing.T) {
	start := time.Now()
	died := func(detail string) error {
		return &fault.Error{Kind: fault.Unavailable, Server: "a", Detail: detail, Hint: "Call again in 2 s."}
	}
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	a := func(state string, err error, since time.Time, restarts int) []usher.ServerStatus {
		return []usher.ServerStatus{{Name: "a", Kind: "stdio", State: state, Err: err, Since: since, Restarts: restarts, Tools: 2}}
	}
	refused := fault.New(fault.Unavailable, "connection refused")
	remote := func(state string, err error, since time.Time, restarts int) []usher.ServerStatus {
		s := a(state, err, since, restarts)
		s[0].Kind = "http"
		return s
	}
	w := &watcher{command: "usher"}
	var f map[string]fate
	for i, c := range []struct {
		now  []usher.ServerStatus
		want string
	}{
		{a("up", nil, at(0), 0), "a: 2 tools"},
		{a("up", nil, at(0), 0), ""},
		{a("restarting", died("it is being restarted (1 of 3): exit status 3"), time.Time{}, 0), "a: it is being restarted (1 of 3): exit status 3"},
		{a("starting", nil, time.Time{}, 0), ""},
		{a("up", nil, at(5), 1), "a: 2 tools"},
		{a("up", nil, at(7), 2), "a: it ended and was started again; 2 tools"},
		{a("up", nil, at(7), 2), ""},
		{a("failed", died("it was given up after 3 restarts in a row: exit status 3"), time.Time{}, 2),
			"a: it was given up after 3 restarts in a row: exit status 3. Call again in 2 s; usher servers restart a"},
		{a("starting", nil, time.Time{}, 0), ""},
		{a("up", nil, at(9), 0), "a: 2 tools"},
		{a("up", nil, at(11), 0), "a: 2 tools"}, // its entry changed
		{nil, ""},                               // it was removed
		{a("up", nil, at(11), 0), "a: 2 tools"},
		{nil, ""},
		{remote("reconnecting", refused, time.Time{}, 0), "a: connection refused; trying again"},
		{remote("reconnecting", refused, time.Time{}, 0), ""},
		{remote("unavailable", refused, time.Time{}, 0), "a: connection refused; the next call tries again; usher doctor a"},
		{remote("up", nil, at(20), 1), "a: 2 tools"},
		{remote("up", nil, at(21), 2), ""},
		{remote("closed", errors.New("odd"), time.Time{}, 2), "a: odd; usher doctor a"},
	} {
		var got []string
		got, f = w.news(&config.Config{}, f, c.now)
		want := []string{c.want}
		if c.want == "" {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
	got, _ := w.news(&config.Config{}, nil, append(remote("reconnecting", refused, time.Time{}, 0), usher.ServerStatus{Name: "z", State: "failed", Err: refused}))
	if want := []string{"z: given up: connection refused; usher servers restart z", "a: connection refused; trying again"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

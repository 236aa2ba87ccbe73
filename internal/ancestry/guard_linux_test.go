package ancestry

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

const (
	child = `sleep 600 & echo $!; wait`
	// A session of its own, and its parent has ended before its id is told.
	escaped = `id=$(setsid sh -c 'sleep 600 >/dev/null 2>&1 & echo $!'); echo $id; read line`
	orphan  = `id=$(sh -c 'sleep 600 >/dev/null 2>&1 & echo $!'); echo $id; read line`
	ownJob  = `id=$(bash -c 'set -m; sleep 600 >/dev/null 2>&1 & echo $!'); echo $id; read line`
)

func only(kin ...Kin) Guard {
	return Guard{Kin: func(context.Context) ([]Kin, error) { return kin, nil }}
}

func refusedAs(t *testing.T, g Guard, pid int, want string) {
	t.Helper()
	err := g.Check(t.Context(), pid)
	if _, ok := errors.AsType[*Refused](err); !ok || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want a refusal with %q", err, want)
	}
}

// F5: what usher started can't answer, also from a session of its own after its parents have ended.
func TestBelowUsher(t *testing.T) {
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{child, escaped} {
		_, out := server(t, script)
		answers := pid(t, out)
		if ok, err := Descends(answers, me); !ok || err != nil {
			t.Errorf("%s: %v, %v", script, ok, err)
		}
		refusedAs(t, only(Kin{Process: me, Usher: true}), answers, "usher (process ")
		refusedAs(t, Guard{Watchdog: watchdogArg}, answers, "as an MCP server")
	}
	if err := only(Kin{Process: me, Usher: true}).Check(t.Context(), os.Getpid()); err != nil {
		t.Errorf("usher itself: %v", err)
	}
}

// F5: a connected client can't answer, nor can what it started; of those whose parents have ended, the ones that are
// still in its group or session are known.
func TestBelowClient(t *testing.T) {
	for what, c := range map[string]struct{ start, script string }{
		"child":                   {"sh", child},
		"grandchild":              {"sh", `sh -c 'sh -c "sleep 600 & echo \$!; wait"; wait'; wait`},
		"orphan":                  {"sh", orphan},
		"orphan of another group": {"setsid", ownJob},
	} {
		t.Run(what, func(t *testing.T) {
			args := []string{"-c", c.script}
			if c.start == "setsid" {
				args = append([]string{"--wait", "--fork", "sh"}, "-c", `echo $$; `+c.script)
			}
			client := run(t, c.start, args...)
			kin := of(t, client.Process.Pid)
			if c.start == "setsid" {
				kin = of(t, pid(t, client.out))
			}
			answers := pid(t, client.out)
			refusedAs(t, only(Kin{Process: kin, Name: "codex"}), answers, "codex (process ")
			refusedAs(t, only(Kin{Process: kin}), kin.PID, "a client (process ")
		})
	}
}

// F5: another process of the same user may answer, also one whose id or whose parent's a client once had.
func TestUnrelated(t *testing.T) {
	client, other := run(t, "sleep", "600"), run(t, "sh", "-c", child)
	answers := pid(t, other.out)
	kin := of(t, client.Process.Pid)
	if err := only(Kin{Process: kin}, Kin{Process: kin, Usher: true}).Check(t.Context(), answers); err != nil {
		t.Error(err)
	}
	old := of(t, other.Process.Pid)
	refusedAs(t, only(Kin{Process: old}), answers, "a client")
	old.Start--
	if err := only(Kin{Process: old}, Kin{Process: old, Usher: true}).Check(t.Context(), answers); err != nil {
		t.Errorf("an id that was given out anew: %v", err)
	}
	if old.Alive() {
		t.Error("the old one is alive")
	}
	init := of(t, 1)
	if err := only(Kin{Process: init}).Check(t.Context(), answers); err != nil {
		t.Errorf("init as a client: %v", err)
	}
}

// What can't be told is refused.
func TestUntold(t *testing.T) {
	refusedAs(t, Guard{}, 0, "can't see which process")
	gone := run(t, "true")
	_ = gone.Wait()
	refusedAs(t, Guard{}, gone.Process.Pid, "can't tell who started")
	broken := Guard{Kin: func(context.Context) ([]Kin, error) { return nil, errors.New("no disk") }}
	refusedAs(t, broken, os.Getpid(), "no disk")
}

// The name of a process is its own choice.
func TestStat(t *testing.T) {
	const rest = " S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 6 7"
	for text, want := range map[string]link{
		"42 (sh)" + rest:                   {Process{42, 12345}, 7, 8, 9},
		"42 (a) S 1 1 1 (b) R 1 2)" + rest: {Process{42, 12345}, 7, 8, 9},
		"42 (sh) S 7 8":                    {},
		"42 (sh) S -7" + rest[4:]:          {},
		"":                                 {},
	} {
		got, err := parseStat(42, []byte(text))
		if got != want || (err == nil) != (want != link{}) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

package sandbox

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A process picks its own name, and must not pass for another by it.
func TestParseStat(t *testing.T) {
	tests := map[string]proc{
		"7 (sh) S 3 5 5 0 -1":         {7, 3, 5, false},
		"7 (a) Z 1 1 (b) R 3 5 5 0":   {7, 3, 5, false},
		"7 (x y\n) Z 1 7 0 0 -1 4194": {7, 1, 7, true},
	}
	for stat, want := range tests {
		if got, ok := parseStat(7, []byte(stat)); !ok || got != want {
			t.Errorf("%q: %v, %v", stat, got, ok)
		}
	}
	for _, stat := range []string{"", "7 (sh", "7 (sh) S", "7 (sh) S x y z"} {
		if got, ok := parseStat(7, []byte(stat)); ok {
			t.Errorf("%q: %v", stat, got)
		}
	}
}

func TestDescendants(t *testing.T) {
	procs := []proc{{pid: 9, ppid: 8}, {pid: 2, ppid: 1}, {pid: 8, ppid: 5}, {pid: 5, ppid: 2}, {pid: 6, ppid: 3}, {pid: 3, ppid: 1}}
	var got []int
	for _, p := range descendants(procs, 2) {
		got = append(got, p.pid)
	}
	if diff := cmp.Diff([]int{5, 8, 9}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzReadCommand(f *testing.F) {
	good, err := command{path: "/bin/sh", dir: "/", argv: []string{"sh", "", "\xff"}, env: []string{"A=1"}}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("\x00\x00\x00\x01x"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := readCommand(bytes.NewReader(b))
		if err != nil {
			return
		}
		if again, err := c.encode(); err != nil || len(c.argv) == 0 {
			t.Errorf("%v made %q, %v", c, again, err)
		}
	})
}

func TestCommandRoundTrip(t *testing.T) {
	for _, want := range []command{
		{path: "/bin/sh", dir: "/d", argv: []string{"sh", "", "a b\n\xff"}, env: []string{"A=1", "B="}},
		{path: "p", dir: "", argv: []string{""}, env: []string{}},
	} {
		b, err := want.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := readCommand(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(command{})); diff != "" {
			t.Error(diff)
		}
		if _, err := readCommand(bytes.NewReader(b[:len(b)-1])); err == nil {
			t.Error("a cut command passed")
		}
	}
}

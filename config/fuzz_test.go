package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	for _, tt := range editCases() {
		f.Add([]byte(tt.in))
	}
	env := vars("HOME", "/home/u", "TOKEN", "0123456789", "EMPTY", "")
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse("f.json", data, env)
		if err != nil {
			var p *Problem
			if cfg != nil || !errors.As(err, &p) {
				t.Fatalf("%v is no Problem, or came with %v", err, cfg)
			}
			checkPlace(t, *p, data)
			return
		}
		for _, p := range cfg.Problems {
			checkPlace(t, p, data)
			if p.Field == "" {
				t.Errorf("no field: %v", p)
			}
		}
		for i, s := range cfg.Servers {
			if i > 0 && cfg.Servers[i-1].Name >= s.Name {
				t.Errorf("%q does not come before %q", cfg.Servers[i-1].Name, s.Name)
			}
			if (s.Command == "") == (s.URL == "") || s.Line < 1 || s.Hash == "" || badServerName(s.Name) != "" {
				t.Errorf("got %+v", s)
			}
		}
		if !slices.IsSorted(cfg.Secrets()) {
			t.Errorf("secrets %q", cfg.Secrets())
		}
	})
}

func checkPlace(t *testing.T, p Problem, data []byte) {
	t.Helper()
	lines := strings.Count(string(data), "\n") + 1
	if p.File != "f.json" || p.Line < 1 || p.Line > lines || p.Column < 1 || p.Message == "" {
		t.Errorf("no place: %+v", p)
	}
	if strings.ContainsFunc(p.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("control characters: %q", p.Error())
	}
}

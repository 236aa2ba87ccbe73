package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// FuzzParseFrom holds for each source what it may not do, whatever is in its file.
func FuzzParseFrom(f *testing.F) {
	all := []string{SourceManaged, SourceCommandLine, SourceLocal, SourceProject, SourceUser, SourceImported}
	for i := range all {
		for _, text := range []string{full, everything, strings.ReplaceAll(fields, "HASH", hashA), `{"projects": {"/p": ` + everything + `}}`,
			`{"servers": {"a": {"command": "${keyring:a}${keyring:}${keyring:${A}", "cwd": "x"}, "b": {"url": "https://${keyring:a}/", "bearerToken": "${keyring:a}"}}}`} {
			f.Add([]byte(text), i)
		}
	}
	const canary = "canary-of-the-keyring"
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		source := all[uint(n)%uint(len(all))]
		from := From{Source: source, Folder: "/p/q", Env: vars("HOME", "/home/u", "TOKEN", canary),
			Trusted: func(name, _ string) bool { return len(name)%2 == 0 },
			Keyring: func(name string) (string, error) {
				if len(name) > 3 {
					return "", errors.New("none\n\x1b[0m")
				}
				return canary, nil
			}}
		cfg, err := ParseFrom("f.json", data, from)
		if err != nil {
			return // FuzzParse looks at these
		}
		for _, p := range cfg.Problems {
			checkPlace(t, p, data)
			if strings.Contains(p.Error(), canary) && !strings.Contains(string(data), canary[:6]) {
				t.Errorf("a secret in %v", p)
			}
		}
		checkSource(t, cfg, source)
	})
}

func checkSource(t *testing.T, cfg *Config, source string) {
	t.Helper()
	p, silent := cfg.Permissions, empty("f.json")
	if source != SourceManaged && p.Modes != nil {
		t.Errorf("%s has modes", source)
	}
	narrow := source == SourceProject || source == SourceImported
	if narrow && (p.Mode != "" || p.Grants != nil || p.Risk != nil || cfg.Approvals != silent.Approvals || cfg.Flows.Mode != silent.Flows.Mode) ||
		source == SourceProject && p.Allow != nil {
		t.Errorf("%s says %+v %+v %+v", source, p, cfg.Approvals, cfg.Flows)
	}
	if cfg.Approvals.Wait > cfg.Approvals.Keep {
		t.Errorf("approvals %v", cfg.Approvals)
	}
	if source != SourceProject && len(cfg.Pending) > 0 {
		t.Error("pending")
	}
	for _, s := range slices.Concat(cfg.Servers, cfg.Pending) {
		if s.Source != source || narrow && s.TrustHints != nil {
			t.Errorf("%+v", s)
		}
	}
	for _, r := range slices.Concat(p.Deny, p.Ask, p.Allow) {
		if r.Source != source || badPattern(r.Pattern) != "" || r.Line < 1 {
			t.Errorf("%+v", r)
		}
	}
}

// FuzzPermissionEdit: a grant is there after it is written, and gone after it is taken out, and the others stay.
func FuzzPermissionEdit(f *testing.F) {
	for _, tt := range permissionEdits() {
		f.Add([]byte(tt.in), "mcp.s.a")
	}
	f.Fuzz(func(t *testing.T, in []byte, tool string) {
		g := Grant{Tool: tool, Entry: hashA, Definition: hashB}
		if badGrant(g) != "" {
			return
		}
		count := func(data []byte) (mine, others int) {
			cfg, err := Parse("f.json", data, nil)
			if err != nil {
				t.Fatalf("%v in\n%s", err, data)
			}
			for _, g := range cfg.Permissions.Grants {
				if g.Tool == tool {
					mine++
				} else {
					others++
				}
			}
			return mine, others
		}
		added, err := edited("f.json", in, func(d *document, _ bool) ([]change, error) { return d.addGrant(g) })
		if err != nil {
			if p := (*Problem)(nil); !errors.As(err, &p) {
				t.Fatalf("%v for\n%s", err, in)
			}
			return
		}
		if added == nil {
			added = in
		}
		_, before := count(in)
		if mine, others := count(added); mine != 1 || others != before {
			t.Fatalf("%d and %d of %d in\n%s", mine, others, before, added)
		}
		removed, err := edited("f.json", added, func(d *document, _ bool) ([]change, error) {
			box, found, err := d.grantsOf(tool)
			if err != nil || len(found) == 0 {
				return nil, err
			}
			return box.cutElements(found), nil
		})
		if err != nil {
			t.Fatalf("%v for\n%s", err, added)
		}
		if mine, others := count(removed); mine != 0 || others != before {
			t.Fatalf("%d and %d of %d in\n%s", mine, others, before, removed)
		}
	})
}

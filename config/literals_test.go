package config

import (
	"slices"
	"testing"
)

// G4: of an entry whose variables stay unexpanded what is written out is secret, and not the reference.
func TestLiterals(t *testing.T) {
	for text, want := range map[string][]string{
		"hunter2hunter2":            {"hunter2hunter2"},
		"${TOKEN}":                  {"", "", ""},
		"Bearer ${keyring:tracker}": {"Bearer ", "", ""},
		"a-${X:-hunter2hunter2}-b":  {"a-", "-b", "hunter2hunter2"},
	} {
		if got := literals(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}

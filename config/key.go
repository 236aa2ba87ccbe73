package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/internal/secret"
)

func keyOf(s *Server) string {
	b, err := json.Marshal(struct {
		Name, Hash string
		Lifecycle  lifecycle.Settings
		Expanded   []string // with other variables it may be another account's
	}{s.Name, s.Hash, s.Lifecycle, valuesOf(s)})
	if err != nil { // numbers and texts that were read from JSON
		panic("config: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// valuesOf is what an entry's variables came to, in an order of its own.
func valuesOf(s *Server) []string {
	all := append([]string{s.Command, s.Dir, s.URL}, s.Args...)
	for _, values := range []map[string]secret.Value{s.Env, s.Headers} {
		all = append(all, "")
		for _, name := range slices.Sorted(maps.Keys(values)) {
			all = append(all, name, values[name].Reveal())
		}
	}
	return all
}

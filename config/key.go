package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/usher-mcp/usher/internal/lifecycle"
)

func keyOf(s *Server) string {
	b, err := json.Marshal(struct {
		Name, Hash string
		Lifecycle  lifecycle.Settings
	}{s.Name, s.Hash, s.Lifecycle})
	if err != nil { // numbers and texts that were read from JSON
		panic("config: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

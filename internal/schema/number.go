package schema

import (
	"encoding/json"
	"strconv"
	"strings"
)

// The library turns numbers into fractions: 1e999999999 would fill the memory.
const (
	maxDigits   = 1000
	maxExponent = 400
)

// badNumber returns the way to a number that must not be handed to the library, nil if there is none.
func badNumber(v any) []string {
	switch v := v.(type) {
	case json.Number:
		if !sane(string(v)) {
			return []string{}
		}
	case map[string]any:
		for key, child := range v {
			if path := badNumber(child); path != nil {
				return append([]string{key}, path...)
			}
		}
	case []any:
		for i, child := range v {
			if path := badNumber(child); path != nil {
				return append([]string{strconv.Itoa(i)}, path...)
			}
		}
	}
	return nil
}

func sane(n string) bool {
	if len(n) > maxDigits {
		return false
	}
	i := strings.IndexAny(n, "eE")
	if i < 0 {
		return true
	}
	exponent, err := strconv.Atoi(n[i+1:])
	return err == nil && exponent <= maxExponent && exponent >= -maxExponent
}

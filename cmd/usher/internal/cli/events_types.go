package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/event"
	near "github.com/usher-mcp/usher/internal/nearest"
)

// knownType fails for a type that no event has.
func knownType(kind string) error {
	prefix, many := strings.CutSuffix(kind, "*")
	types := eventTypes()
	if kind == "" || !many && slices.Contains(types, kind) ||
		many && slices.ContainsFunc(types, func(t string) bool { return strings.HasPrefix(t, prefix) }) {
		return nil
	}
	text := fmt.Sprintf("no event has the type %q", kind)
	var families []string // mcp.call.* …
	for _, t := range types {
		families = append(families, t[:strings.LastIndexByte(t, '.')+1]+"*")
	}
	slices.Sort(families)
	families = slices.Compact(families)
	near := near.Name(prefix, types)
	if slices.Contains(families, strings.TrimSuffix(prefix, ".")+".*") {
		near = strings.TrimSuffix(prefix, ".") + ".*"
	}
	return usage(text+didYouMean(near), "There are: "+strings.Join(families, ", "))
}

func eventTypes() (types []string) {
	for _, d := range event.All() {
		types = append(types, d.Type())
	}
	return types
}

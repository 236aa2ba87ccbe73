package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/ancestry"
)

// notBehindItself refuses to serve where usher would start itself without end: each one below would start the next. An
// agent that is a server of usher's, and has usher as a server, is let be, once.
func notBehindItself(c *config.Config, starts func(server string) bool) error {
	depth, err := ancestry.Depth(watchdogArg)
	if err != nil || depth == 0 { // where it can't be told, time-outs end it
		return nil
	}
	for _, s := range c.Servers {
		if !s.Disabled && startsUsher(s) && (starts == nil || starts(s.Name)) {
			return behindItself(fmt.Sprintf("server %s (%s:%d) starts usher, which would be behind itself", s.Name, s.File, s.Line))
		}
	}
	if depth > 1 {
		return behindItself(fmt.Sprintf("an entry starts usher by way of usher, %d deep, which would be behind itself", depth))
	}
	return nil
}

// behindItself says all in one line: the usher that started this one tells the last one.
func behindItself(text string) error {
	return &failure{fault.ExitConfig, text + "; take that entry out of usher's own configuration, it belongs into an agent's", ""}
}

// startsUsher reports whether an entry starts usher as a server, as usher connect writes it for agents.
func startsUsher(s config.Server) bool {
	return filepath.Base(s.Command) == "usher" && slices.Contains(s.Args, "stdio")
}

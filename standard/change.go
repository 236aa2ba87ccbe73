package standard

import "github.com/usher-mcp/usher/config"

// Config is the configuration in force. It must not be changed.
func (h *Host) Config() *config.Config { return h.watched.config.Load() }

// Reload takes up the configuration file if it changed, and returns when it is in force: a server that changed has ended
// by then, and starts anew in the background. The error says why the file isn't in force.
func (h *Host) Reload() error { return h.watched.reread() }

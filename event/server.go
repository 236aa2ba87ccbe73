package event

import "encoding/json"

// ServerConnecting says that a server is dialled or started.
type ServerConnecting struct {
	Server    string `json:"server"`
	Transport string `json:"transport"`
}

// ServerConnected says that the handshake is done.
type ServerConnected struct {
	Server       string          `json:"server"`
	Transport    string          `json:"transport"`
	Era          string          `json:"era"`
	Revision     string          `json:"revision"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	ServerInfo   json.RawMessage `json:"serverInfo,omitempty"`
	DurationMs   int64           `json:"durationMs"`
}

// ServerCatalog says what a server offers, after listing.
type ServerCatalog struct {
	Server    string   `json:"server"`
	Tools     int      `json:"tools"`
	Resources int      `json:"resources,omitempty"`
	Prompts   int      `json:"prompts,omitempty"`
	Added     []string `json:"added,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	Changed   []string `json:"changed,omitempty"`
	Hash      string   `json:"hash"`
}

// ServerCrashed says that a server ended without being told to, or didn't get as far as to answer. Attempt counts such
// ends in a row, from 1.
type ServerCrashed struct {
	Server     string `json:"server"`
	Attempt    int    `json:"attempt"`
	ExitCode   *int   `json:"exitCode,omitempty"` // of a process that ended by itself
	Signal     string `json:"signal,omitempty"`   // that ended the process
	Error      string `json:"error,omitempty"`    // of anything else
	StderrTail string `json:"stderrTail,omitempty"`
}

// ServerRestarting says that a server is started again after a wait.
type ServerRestarting struct {
	Server  string `json:"server"`
	Attempt int    `json:"attempt"`
	DelayMs int64  `json:"delayMs"`
}

// ServerFailed says that a server is not started again by itself.
type ServerFailed struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
}

// ServerDisconnected says that the connection to a remote server was lost, closed on purpose or couldn't be opened, and
// that it is tried again.
type ServerDisconnected struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
}

// ServerUnavailable says that a remote server isn't tried any more until it is needed.
type ServerUnavailable struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
}

// ServerBreaker says that a server's circuit breaker changed: closed, open or half-open.
type ServerBreaker struct {
	Server string `json:"server"`
	From   string `json:"from"`
	To     string `json:"to"`
}

// ServerShutdown says that a server was ended on purpose.
type ServerShutdown struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
}

// ServerStray counts what a server wrote to stdout that was no message.
type ServerStray struct {
	Server string `json:"server"`
	Stream string `json:"stream"`
	Count  int    `json:"count"`
	Sample string `json:"sample"`
}

// ServerLog is a log notification of a server.
type ServerLog struct {
	Server  string `json:"server"`
	Level   string `json:"level"`
	Logger  string `json:"logger,omitempty"`
	Message string `json:"message"`
}

// Type returns the type that docs/events.md lists.
func (ServerConnecting) Type() string   { return "mcp.server.connecting" }
func (ServerConnected) Type() string    { return "mcp.server.connected" }
func (ServerCatalog) Type() string      { return "mcp.server.catalog" }
func (ServerCrashed) Type() string      { return "mcp.server.crashed" }
func (ServerRestarting) Type() string   { return "mcp.server.restarting" }
func (ServerFailed) Type() string       { return "mcp.server.permanently_failed" }
func (ServerDisconnected) Type() string { return "mcp.server.disconnected" }
func (ServerUnavailable) Type() string  { return "mcp.server.unavailable" }
func (ServerShutdown) Type() string     { return "mcp.server.shutdown" }
func (ServerBreaker) Type() string      { return "mcp.server.breaker" }
func (ServerStray) Type() string        { return "mcp.server.stray_output" }
func (ServerLog) Type() string          { return "mcp.server.log" }

func (ServerConnecting) data()   {}
func (ServerConnected) data()    {}
func (ServerCatalog) data()      {}
func (ServerCrashed) data()      {}
func (ServerRestarting) data()   {}
func (ServerFailed) data()       {}
func (ServerDisconnected) data() {}
func (ServerUnavailable) data()  {}
func (ServerShutdown) data()     {}
func (ServerBreaker) data()      {}
func (ServerStray) data()        {}
func (ServerLog) data()          {}

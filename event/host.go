package event

// SessionStarted opens a session.
type SessionStarted struct {
	Kind   string `json:"kind"` // host, agent, gateway or library
	Client string `json:"client,omitempty"`
	Mode   string `json:"mode,omitempty"`
}

// SessionEnded closes a session.
type SessionEnded struct {
	Reason string `json:"reason"`
}

// ClientConnected says that a client of the gateway came.
type ClientConnected struct {
	Principal string `json:"principal,omitempty"`
	Via       string `json:"via"` // http or stdio
	Name      string `json:"name,omitempty"`
	Version   string `json:"version,omitempty"`
	Era       string `json:"era"`
}

// ClientDisconnected says that it left.
type ClientDisconnected struct {
	Via  string `json:"via"`
	Name string `json:"name,omitempty"`
}

// ConfigLoaded says which files the configuration came from and which servers it names.
type ConfigLoaded struct {
	Sources []string `json:"sources"`
	Servers []string `json:"servers"`
}

// ConfigChanged says that a file changed while Usher ran, and that it is in force now, with the servers that came, went
// and were replaced because of it.
type ConfigChanged struct {
	Sources []string `json:"sources"`
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Changed []string `json:"changed,omitempty"`
}

// ConfigRejected is a part of the configuration that was left out, a changed file that was not taken up, or a rule that
// could not be written. File and line are missing where there is none.
type ConfigRejected struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// GrantChanged says that a permission was given or taken.
type GrantChanged struct {
	What  string `json:"what"`
	Scope string `json:"scope"`
	Hash  string `json:"hash,omitempty"`
	By    string `json:"by"`
}

// TrustChanged says that a person let an entry of a project's file run, or took that back. What is the server's name, Scope
// the folder, and Hash what the trust is kept under: it is for folder, name and entry.
type TrustChanged struct {
	What  string `json:"what"`
	Scope string `json:"scope"`
	Hash  string `json:"hash"`
	By    string `json:"by"`
	Taken bool   `json:"taken,omitempty"` // it was taken back
}

// Checkpoint records finished files and the heads of the sessions in them, so that cutting the end of one or dropping
// one shows. A process writes it when it rotates its own file and when it has taken over the files of processes that
// have ended.
type Checkpoint struct {
	Files []CheckpointFile `json:"files,omitempty"`
	Heads []CheckpointHead `json:"heads,omitempty"`
}

// CheckpointFile is one finished journal file.
type CheckpointFile struct {
	Name string `json:"name"`
	Size int64  `json:"size"`           // bytes
	Torn int    `json:"torn,omitempty"` // bytes of an unfinished last line that were cut off
}

// CheckpointHead is the last event of one session.
type CheckpointHead struct {
	Session string `json:"session"`
	Seq     int64  `json:"seq"`
	Hash    string `json:"hash"`
	// Ended and Open let a later start go on without reading finished files again.
	Ended bool       `json:"ended,omitempty"`
	Open  []OpenCall `json:"open,omitempty"`
}

// OpenCall is a call that was requested and has no tool.completed or tool.failed yet.
type OpenCall struct {
	ToolCallID string `json:"toolCallId"`
	Tool       string `json:"tool"`
	Server     string `json:"server,omitempty"` // set while an mcp.call.started has no end
}

// Type returns the type that docs/events.md lists.
func (SessionStarted) Type() string     { return "session.started" }
func (SessionEnded) Type() string       { return "session.ended" }
func (ClientConnected) Type() string    { return "client.connected" }
func (ClientDisconnected) Type() string { return "client.disconnected" }
func (ConfigLoaded) Type() string       { return "config.loaded" }
func (ConfigChanged) Type() string      { return "config.changed" }
func (ConfigRejected) Type() string     { return "config.rejected" }
func (GrantChanged) Type() string       { return "grant.changed" }
func (TrustChanged) Type() string       { return "trust.changed" }
func (Checkpoint) Type() string         { return "log.checkpoint" }

func (SessionStarted) data()     {}
func (SessionEnded) data()       {}
func (ClientConnected) data()    {}
func (ClientDisconnected) data() {}
func (ConfigLoaded) data()       {}
func (ConfigChanged) data()      {}
func (ConfigRejected) data()     {}
func (GrantChanged) data()       {}
func (TrustChanged) data()       {}
func (Checkpoint) data()         {}

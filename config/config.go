package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/internal/secret"
)

// The transports of a Server.
const (
	TransportStdio = "stdio"
	TransportHTTP  = "http" // Streamable HTTP
	TransportSSE   = "sse"  // HTTP+SSE of 2024-11-05
	TransportWS    = "ws"
	TransportGRPC  = "grpc"
)

// The values of Log.Durability.
const (
	DurabilityProcess = "process"
	DurabilityFull    = "full"
)

// Config is one file, read. It is not changed after Load, Parse or ParseFrom
// returned it and may then be read by many goroutines.
type Config struct {
	Servers     []Server // sorted by name; entries with a Problem that costs them are left out
	Pending     []Server // of a project: what isn't trusted, and may not run; sorted by name, nothing in them is expanded
	Permissions Permissions
	Approvals   Approvals
	Flows       Flows
	Log         Log
	Profile     Profile
	Locale      fault.Language // of what the agent reads
	Errors      fault.Table    // with what errors adds; not to be changed
	Path        string         // the file, as given
	Problems    []Problem      // in the order of the file
	Merged                     // only LoadAll fills it

	// Behind pointers, where %+v does not follow them.
	secrets *secrets
	file    *file
}

// Server is one entry of mcpServers, expanded.
type Server struct {
	Name         string
	Transport    string // one of the constants
	Inferred     bool   // the entry has no type: Transport follows from command or url, and an http server may turn out to be of type sse
	Command      string
	Args         []string
	Env          map[string]secret.Value
	Dir          string                  // "" is usher's own working folder
	URL          string                  // unix:///path of a socket has, behind a colon, the path that is asked for
	Headers      map[string]secret.Value // with the one that bearerToken makes
	TLS          TLS
	Disabled     bool               // its variables may be unexpanded then, and references to the keyring are
	StartTimeout time.Duration      // 0 is the default
	CallTimeout  time.Duration      // 0 is the default
	TrustHints   *bool              // nil is the default
	Lifecycle    lifecycle.Settings // complete: the profile's numbers, those of defaults, and the entry's own
	File         string
	Line         int    // from 1, of the name
	Source       string // one of the constants
	// Hash is "sha256:" and the hex SHA-256 of the entry before expansion, in
	// canonical form (RFC 8785, numbers kept as written). Comments, order and
	// white space don't count, nor does the name; a project's folder does. It covers literal secrets, so
	// it is for comparing and must not be shown or logged.
	Hash string
	// Key identifies what is connected to: it is the hex SHA-256 of Name, Hash and Lifecycle, so it changes as soon as a
	// server's entry, defaults or the profile say something else about it. Two servers have the same Key only if they are
	// the same. Like Hash, it is for comparing and must not be shown or logged.
	Key string
}

// TLS names files by absolute path, or by one below the working folder where
// that of the configuration is. They are not opened here.
type TLS struct {
	CA         string // PEM: the authorities that count, instead of the system's
	Cert, Key  string // PEM: the client certificate and its key; both or none
	ServerName string // what the server's certificate must name; "" is the url's host
}

// Log says how events are kept.
type Log struct {
	Durability string // DurabilityProcess or DurabilityFull, never ""
	Dir        string // "" is the default
}

// Load reads the file at path. A file that does not exist, or the path "", is an
// empty Config and no error. env looks up variables; nil knows none.
//
// An error means that nothing of the file counts. It is a *Problem for broken
// content and wraps the operating system's error otherwise, and says what to do.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return empty(path), nil
	}
	if err != nil {
		return nil, err
	}
	return Parse(path, data, env)
}

// Secrets returns the values of 8 bytes or more that the file and its variables
// hold under names that look secret, sorted, each once. It is for redaction.
func (c *Config) Secrets() []string {
	if c.secrets == nil {
		return nil
	}
	return c.secrets.sorted()
}

// DefaultPath returns where the user's file is: $USHER_CONFIG, else
// $XDG_CONFIG_HOME/usher/mcp.config.json if that is absolute, else
// $HOME/.config/usher/mcp.config.json; "" if env knows none of them.
func DefaultPath(env func(string) (string, bool)) string {
	if env == nil {
		return ""
	}
	if p, _ := env("USHER_CONFIG"); p != "" {
		return p
	}
	if dir, _ := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "usher", "mcp.config.json")
	}
	if home, _ := env("HOME"); home != "" {
		return filepath.Join(home, ".config", "usher", "mcp.config.json")
	}
	return ""
}

func empty(path string) *Config {
	return &Config{
		Path: path, Log: Log{Durability: DurabilityProcess}, Profile: profileNamed(ProfileEnterprise), Locale: fault.English,
		Approvals: Approvals{Wait: DefaultWait, Keep: DefaultKeep}, Flows: Flows{Mode: FlowsAsk, Inherit: DefaultInherit},
		secrets: &secrets{}, file: &file{said: map[string]bool{}},
	}
}

// readFile reads at most one byte more than a file may have.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("can't read the config: %w; check the path and its permissions", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("can't read the config: %w; it must be a file that this user may read", err)
	}
	return data, nil
}

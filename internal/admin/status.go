package admin

import (
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/secret"
)

// Status is what the API tells of a running usher.
type Status struct {
	Version  string    `json:"version"`
	PID      int       `json:"pid"`
	Config   string    `json:"config"`           // the file, as that usher was given it
	Problems []Problem `json:"problems"`         // the parts of the configuration that were left out
	Servers  []Server  `json:"servers"`          // in the order of config.Config, with those that are disabled
	Idle     []Server  `json:"idle"`             // those that may not run, because they aren't trusted or are blocked
	Folder   string    `json:"folder,omitempty"` // of the project whose file counts
}

// States of a server besides those of usher.ServerStatus.
const (
	StateDisabled   = "disabled"
	StateNotRunning = "not running" // there is no usher that would run it
)

// Server is one configured server.
type Server struct {
	Name      string    `json:"name"`
	State     string    `json:"state"` // as in usher.ServerStatus, or one of the constants
	Disabled  bool      `json:"disabled"`
	Transport string    `json:"transport"` // the one in use
	Target    string    `json:"target"`    // the command or the address, without anything secret
	Source    string    `json:"source"`    // whose configuration it is from
	File      string    `json:"file,omitempty"`
	Line      int       `json:"line,omitempty"`
	Reason    string    `json:"reason,omitempty"` // why it is blocked
	Era       string    `json:"era,omitempty"`
	Revision  string    `json:"revision,omitempty"`
	PID       int       `json:"pid,omitempty"`
	Tools     int       `json:"tools"`
	Resources int       `json:"resources"`
	Prompts   int       `json:"prompts"`
	Cached    bool      `json:"cached,omitempty"` // what it offers is remembered, and not yet heard from it
	Restarts  int       `json:"restarts"`
	Breaker   string    `json:"breaker,omitempty"`
	Pool      *Pool     `json:"pool,omitempty"` // nil: its calls share one connection
	Since     time.Time `json:"since,omitzero"` // when it came up
	UptimeMs  int64     `json:"uptimeMs,omitempty"`
	NextTry   time.Time `json:"nextTry,omitzero"`
	LastError *Failure  `json:"lastError,omitempty"` // why it isn't up
}

// Pool is how many connections a server has, of these are in use, and may have.
type Pool struct {
	Size int `json:"size"`
	Busy int `json:"busy"`
	Max  int `json:"max"`
}

// Configured are the servers of a configuration that nobody runs.
func Configured(c *config.Config) []Server {
	redact := redactor(c)
	all := make([]Server, 0, len(c.Servers))
	for _, s := range c.Servers {
		all = append(all, entry(s, redact))
	}
	return all
}

func entry(c config.Server, redact func(string) string) Server {
	s := Server{Name: c.Name, State: StateNotRunning, Disabled: c.Disabled, Transport: c.Transport, Target: redact(Target(c)), Source: c.Source, File: absolute(c.File), Line: c.Line}
	if c.Disabled {
		s.State = StateDisabled
	}
	return s
}

// absolute names a file by path, since the client may be in another folder. JSON of the command line has none.
func absolute(file string) string {
	if abs, err := filepath.Abs(file); err == nil && file != "" && !strings.HasPrefix(file, "--") {
		return abs
	}
	return file
}

// running are the servers of a configuration in force, with how each fares.
func running(c *config.Config, status []usher.ServerStatus, now time.Time) []Server {
	redact := redactor(c)
	by := map[string]usher.ServerStatus{}
	for _, s := range status {
		by[s.Name] = s
	}
	all := Configured(c)
	for i := range all {
		if s, ok := by[all[i].Name]; ok && !all[i].Disabled {
			all[i].fill(s, redact, now)
		}
	}
	return all
}

func (s *Server) fill(u usher.ServerStatus, redact func(string) string, now time.Time) {
	s.State, s.PID = u.State, u.PID
	s.Tools, s.Resources, s.Prompts, s.Cached = u.Tools, u.Resources, u.Prompts, u.Cached
	s.Restarts, s.Breaker, s.Since, s.NextTry = u.Restarts, u.Breaker, u.Since, u.NextTry
	if !u.Since.IsZero() {
		s.UptimeMs = now.Sub(u.Since).Milliseconds()
	}
	if u.PoolMax > 0 {
		s.Pool = &Pool{Size: u.PoolSize, Busy: u.PoolBusy, Max: u.PoolMax}
	}
	if u.Fallback {
		s.Transport = config.TransportSSE
	}
	if s.Revision = u.Revision; s.Revision != "" { // else the era isn't known
		s.Era = u.Era
	}
	if u.Err == nil || u.State == "up" {
		return
	}
	_, f := failureOf(u.Err)
	f.Message, f.Hint = bounded(redact(f.Message)), bounded(redact(f.Hint))
	s.LastError = &f
}

const maxText = 1000 // bytes of what went wrong

func bounded(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// redactor takes the secrets of a configuration out of texts.
func redactor(c *config.Config) func(string) string {
	secrets := new(secret.Set)
	secrets.Add(c.Secrets()...)
	return func(s string) string { return string(secrets.Redact([]byte(s))) }
}

// Target is what an entry starts or reaches. Arguments may hold secrets, so they are left out; so is what a URL has
// besides scheme, host and path.
func Target(c config.Server) string {
	if c.Transport == config.TransportStdio {
		return c.Command
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.Scheme+"://"+u.Host+u.Path, "://")
}

// problemsOf names the file by path, since the client may be in another folder.
func problemsOf(c *config.Config, path string) []Problem {
	all := make([]Problem, 0, len(c.Problems))
	for _, p := range c.Problems {
		if p.File == c.Path {
			p.File = path
		}
		all = append(all, Problem(p))
	}
	return all
}

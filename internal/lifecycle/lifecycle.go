// Package lifecycle holds the numbers by which a server is kept alive: when it is started again, how long it is waited
// for, how many connections it gets. The defaults and the presets are here, so that nobody else has a number of their own.
//
// It does nothing with them: that is upstream's work. How a user writes them is config's.
package lifecycle

import "time"

// Settings are all numbers of one server. They are complete: no field means "the default". Start from Default or another
// preset and change what is to differ.
type Settings struct {
	Restart   Restart   // of a child process (C2)
	Reconnect Reconnect // to a remote server (C5)

	Connect      time.Duration // from the first step to a finished handshake (D2)
	FirstConnect time.Duration // the same, until the server has been up once; longer for package runners (C8)
	Request      time.Duration // how long a call may stay without answer or progress (D2)
	Hard         time.Duration // how long a call may take in all, whatever its progress (D2)

	Retry      Backoff  // of a call that provably did not run (D3); Steps 0: never
	Idempotent []string // the server's tools, * and ? allowed, that the user says may run twice (D3)

	Breaker    Breaker
	Concurrent int // calls that the server has at once; more wait; 0: no bound

	Isolation Isolation
	Stateful  bool // the user says that the server keeps state for whoever is connected
	Pool      Pool

	Subscribe bool          // hear of changes of lists
	ListTTL   time.Duration // how long a list is good where the server doesn't say; 0: until the server says that it changed
}

// Restart is how a process that ended is started again.
type Restart struct {
	Enabled bool
	Backoff               // Steps: restarts in a row that may fail; the crash after them is the last
	Stable  time.Duration // a server that was up for so long starts counting anew
}

// Reconnect is how a lost remote server is reached again.
type Reconnect struct {
	Enabled bool
	Backoff     // Steps: attempts after the first failure
	Errors  int // network errors of calls in a row after which the connection is closed and opened again; 0: never
}

// Breaker keeps calls away from a server that fails (D4).
type Breaker struct {
	Failures int           // within Window that open it; 0: there is no breaker
	Window   time.Duration // it slides
	Cooldown time.Duration // how long it stays open
	Probes   int           // calls that may try while it is half open
}

// Pool is the connections of a server whose calls are stateless (D1).
type Pool struct {
	Min, Max int           // Min are opened at first use, more as calls come at once; Max 0: there is no pool
	Idle     time.Duration // a connection that was unused for so long is closed, whatever Min says
	Ping     time.Duration // how often an unused connection is asked whether it lives; 0: never
}

// Isolation says who shares a connection.
type Isolation string

// The kinds of isolation.
const (
	Auto       Isolation = "auto"    // a connection for each session where it must be, else shared
	Shared     Isolation = "shared"  // one connection, however many agents
	PerSession Isolation = "session" // a connection for each agent's session
	PerCall    Isolation = "call"    // a connection for each call
)

// Default is the preset enterprise: everything.
func Default() Settings {
	return Settings{
		Restart: Restart{
			Enabled: true, Stable: time.Minute,
			Backoff: Backoff{Base: 500 * time.Millisecond, Cap: 10 * time.Second, Factor: 2, Jitter: 0.25, Steps: 3},
		},
		Reconnect: Reconnect{
			Enabled: true, Errors: 3,
			Backoff: Backoff{Immediate: true, Base: time.Second, Cap: 8 * time.Second, Factor: 2, Steps: 5},
		},
		Connect: 10 * time.Second, FirstConnect: 10 * time.Second, Request: 30 * time.Second, Hard: 10 * time.Minute,
		Retry:      Backoff{Immediate: true, Base: time.Second, Cap: 30 * time.Second, Factor: 2, Jitter: 0.25, Steps: 5},
		Breaker:    Breaker{Failures: 5, Window: time.Minute, Cooldown: 30 * time.Second, Probes: 3},
		Concurrent: 512,
		Isolation:  Auto,
		Pool:       Pool{Min: 2, Max: 10, Idle: 5 * time.Minute, Ping: time.Minute},
		Subscribe:  true,
	}
}

// Professional is for a team: no breaker, a smaller pool.
func Professional() Settings {
	s := Default()
	s.Pool.Max = 5
	s.Breaker = Breaker{}
	return s
}

// Minimal is a process for each call, three retries at fixed intervals, and nothing that lasts.
func Minimal() Settings {
	s := Default()
	fixed := Backoff{Base: time.Second, Cap: time.Second, Factor: 1, Steps: 3}
	s.Restart.Backoff, s.Reconnect.Backoff, s.Retry = fixed, fixed, fixed
	s.Breaker, s.Pool, s.Isolation, s.Subscribe = Breaker{}, Pool{}, PerCall, false
	return s
}

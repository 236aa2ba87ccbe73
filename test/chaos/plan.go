package chaos

import (
	"math/rand/v2"
	"time"

	"github.com/usher-mcp/usher/internal/lifecycle"
)

// Plan is all that a seed decides.
type Plan struct {
	Seed     uint64
	Servers  []ServerPlan // the first one is healthy
	Sessions int
	Callers  int // of each session
	Faults   []Fault
	Watchdog bool // children have one
	Early    bool // the host is closed while calls are in flight
}

// ServerPlan is one server. Its name is unique in the plan.
type ServerPlan struct {
	Name       string
	Kind       string // stdio, http, modern, ws, sse or grpc
	Stream     bool   // over HTTP it answers with streams
	Idempotent bool   // the user says that its tool read may run twice
	Lifecycle  lifecycle.Settings
}

// Fault is one way to break one server. After counts from the fault before.
type Fault struct {
	After  time.Duration
	Server string
	Order  string
	N      int // ms, bytes or an exit code
}

const (
	healthy = "well"
	// unhurried is how long its calls may take: that they succeed is the point here, not when.
	unhurried = 20 * time.Second
)

// order is a fault with the least and the most of its N.
type order struct {
	name     string
	from, to int
}

var (
	// ofPipes are the faults of a child process, which it commits itself.
	ofPipes = []order{
		{"kill", 0, 0}, {"kill", 0, 0}, {"exit", 0, 3}, {"stop", 20, 300}, {"hang", 50, 400}, {"slow", 5, 60}, {"mute", 1, 4},
		{"truncate", 0, 0}, {"sever", 0, 0}, {"closein", 0, 0}, {"closeout", 0, 0}, {"garbage", 0, 0}, {"twice", 0, 0},
		{"reorder", 2, 4}, {"stray", 64, 2048}, {"stderr", 64, 2048}, {"huge", 0, 0},
	}
	// ofSockets are those of a remote server: its own first, then what its proxy does.
	ofSockets = []order{
		{"kill", 0, 0}, {"hang", 50, 400}, {"slow", 5, 60}, {"mute", 1, 3},
		{"cut", 0, 0}, {"reset", 0, 0}, {"half", 0, 400}, {"delay", 5, 60}, {"hole", 50, 400}, {"refuse", 20, 200},
	}
	// ofHost are what its operator does.
	ofHost  = []order{{"restart", 0, 0}, {"replace", 0, 0}, {"remove", 5, 60}}
	remotes = []string{"http", "modern", "ws", "sse", "grpc"}
)

// NewPlan makes the plan of a seed.
func NewPlan(seed uint64) Plan {
	r := rand.New(rand.NewPCG(seed, 0))
	p := Plan{
		Seed: seed, Sessions: 2 + r.IntN(2), Callers: 3 + r.IntN(3), Watchdog: r.IntN(4) == 0, Early: r.IntN(4) == 0,
		Servers: []ServerPlan{{Name: healthy, Kind: "stdio", Lifecycle: settings(r)}},
	}
	for i := range 3 + r.IntN(3) {
		p.Servers = append(p.Servers, ServerPlan{
			Name: "pipe" + string(rune('a'+i)), Kind: "stdio", Idempotent: r.IntN(4) == 0, Lifecycle: settings(r),
		})
	}
	for i, kind := range r.Perm(len(remotes))[:1+r.IntN(3)] {
		p.Servers = append(p.Servers, ServerPlan{
			Name: "far" + string(rune('a'+i)), Kind: remotes[kind], Stream: r.IntN(2) == 0, Idempotent: r.IntN(4) == 0, Lifecycle: settings(r),
		})
	}
	p.Servers[0].Lifecycle.Concurrent, p.Servers[0].Lifecycle.Request = 512, unhurried
	for i := range p.Servers {
		if p.Servers[i].Idempotent {
			p.Servers[i].Lifecycle.Idempotent = []string{"read"}
		}
	}
	for range 16 + r.IntN(8) {
		p.Faults = append(p.Faults, newFault(r, p.Servers[1+r.IntN(len(p.Servers)-1)]))
	}
	return p
}

func newFault(r *rand.Rand, s ServerPlan) Fault {
	from := ofSockets
	switch {
	case r.IntN(10) == 0:
		from = ofHost
	case s.Kind == "stdio":
		from = ofPipes
	}
	o := from[r.IntN(len(from))]
	return Fault{After: time.Duration(5+r.IntN(45)) * time.Millisecond, Server: s.Name, Order: o.name, N: o.from + r.IntN(o.to-o.from+1)}
}

// settings are the defaults at a hundredth of their length, and some of them by chance.
func settings(r *rand.Rand) lifecycle.Settings {
	s := lifecycle.Default()
	s.Restart.Base, s.Restart.Cap, s.Restart.Stable = 10*time.Millisecond, 100*time.Millisecond, time.Duration(30+r.IntN(200))*time.Millisecond
	s.Restart.Steps = 3 + r.IntN(6)
	s.Reconnect.Base, s.Reconnect.Cap = 10*time.Millisecond, 80*time.Millisecond
	s.Retry.Base, s.Retry.Cap = 10*time.Millisecond, 100*time.Millisecond
	s.Connect, s.FirstConnect = 3*time.Second, 10*time.Second
	s.Request, s.Hard = 2*time.Second, unhurried
	s.Pool.Idle, s.Pool.Ping = 200*time.Millisecond, 50*time.Millisecond
	s.Isolation = [...]lifecycle.Isolation{lifecycle.Auto, lifecycle.Shared, lifecycle.PerSession}[r.IntN(3)]
	s.Breaker.Cooldown = 50 * time.Millisecond
	if r.IntN(2) == 0 {
		s.Breaker = lifecycle.Breaker{}
	}
	if r.IntN(3) == 0 {
		s.Concurrent = 4
	}
	return s
}

// CallPlan is one call.
type CallPlan struct {
	ID       string
	Server   string
	Tool     string
	Work     int           // ms that the server works at it
	Deadline time.Duration // its context's
	Cancel   time.Duration // after which its caller gives it up; 0: never
	Think    time.Duration // before it
}

// calls makes the calls of one caller, one after the other.
func (p Plan) calls(caller int) func() CallPlan {
	r := rand.New(rand.NewPCG(p.Seed, uint64(caller)+1))
	n := 0
	return func() CallPlan {
		n++
		s := p.Servers[r.IntN(len(p.Servers))]
		c := CallPlan{
			ID: callID(p.Seed, caller, n), Server: s.Name, Tool: [...]string{"read", "write"}[r.IntN(2)], Work: 1 + r.IntN(25),
			Deadline: time.Duration(150+r.IntN(450)) * time.Millisecond, Think: time.Duration(r.IntN(8)) * time.Millisecond,
		}
		if cancel := time.Duration(1+r.IntN(40)) * time.Millisecond; r.IntN(12) == 0 && s.Name != healthy {
			c.Cancel = cancel
		}
		if s.Name == healthy {
			c.Deadline = unhurried
		}
		return c
	}
}

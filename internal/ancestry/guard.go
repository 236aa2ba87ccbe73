package ancestry

import (
	"context"
	"fmt"
	"os"
)

// Kin is a process that must not have its own questions answered by what it started.
type Kin struct {
	Process
	// Name is how a person knows it, such as what a client calls itself. It is untrusted.
	Name string
	// Usher says that it is an usher, and not a client of one. An usher itself may answer: its terminal, its callback.
	Usher bool
}

// Guard refuses to let a question be answered from below: by a process that an usher started, or by a connected client
// and what that started. It is safe for concurrent use if Kin is.
//
// It is a hurdle and no wall; the package says what gets past it.
type Guard struct {
	// Kin are the ushers that run and the clients that are connected now, to any of them. Those that ended since don't
	// matter. Nil: none is known. An error refuses.
	Kin func(context.Context) ([]Kin, error)
	// Watchdog is the first argument of the process that stands between an usher and one server: what has such a process
	// above it was started by an usher, whoever that was. Empty: nobody is told by that.
	Watchdog string
}

// Refused says why somebody may not decide, and what to do instead.
type Refused struct{ Text, Hint string }

func (r *Refused) Error() string { return r.Text }

const elsewhere = "Answer from a terminal that neither usher nor one of its clients started"

// Check returns nil if a process may decide, else a *Refused. What can't be told is refused. The caller makes sure that
// pid still is who asked.
func (g Guard) Check(ctx context.Context, pid int) error {
	if pid <= 0 {
		return refused("usher can't see which process asks (it may run in another container), so it can't be let decide")
	}
	links, err := chain(pid)
	if err != nil {
		return refused(fmt.Sprintf("usher can't tell who started process %d, so it can't be let decide: %v", pid, err))
	}
	if g.Watchdog != "" && watchdogs(links[1:], g.Watchdog) > 0 {
		return refused("usher started this process, or one above it, as an MCP server, so it can't decide about its own calls")
	}
	if g.Kin == nil {
		return nil
	}
	kin, err := g.Kin(ctx)
	if err != nil {
		return refused("usher can't tell which clients are connected, so nobody can be let decide: " + err.Error())
	}
	for _, k := range kin {
		if k.above(links) && k.Alive() {
			return k.refuses()
		}
	}
	return nil
}

// Depth is how many servers of ushers this process is below, one in another: 0 where no usher started it. Watchdog is as
// that of a Guard.
func Depth(watchdog string) (int, error) {
	links, err := chain(os.Getpid())
	if err != nil {
		return 0, err
	}
	return watchdogs(links[1:], watchdog), nil
}

func watchdogs(links []link, arg string) (n int) {
	for _, l := range links {
		if firstArgument(l.PID) == arg {
			n++
		}
	}
	return n
}

// above reports whether k started the first process of a chain, or is it. One whose parents have ended is known by the
// group or session that a client leads.
func (k Kin) above(links []link) bool {
	if k.Usher {
		return has(links[1:], k.Process)
	}
	if k.PID <= 1 { // init: everything descends from it, also what lost its parent
		return false
	}
	if has(links, k.Process) {
		return true
	}
	for _, l := range links {
		if l.session == k.PID || l.group == k.PID {
			return true
		}
	}
	return false
}

func has(links []link, p Process) bool {
	for _, l := range links {
		if l.Process == p {
			return true
		}
	}
	return false
}

func (k Kin) refuses() error {
	if k.Usher {
		return refused(fmt.Sprintf("usher (process %d) started this process, so it can't decide about its own calls", k.PID))
	}
	name := k.Name
	if name == "" {
		name = "a client"
	}
	return refused(fmt.Sprintf("%s (process %d) is connected to usher and started this process, so it can't decide about its own calls", name, k.PID))
}

func refused(text string) error { return &Refused{text, elsewhere} }

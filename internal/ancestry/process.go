package ancestry

import "errors"

// Process is one process of this machine since its start.
type Process struct {
	PID   int
	Start uint64 // in clock ticks since the machine's start; 0 is no process
}

// Why a process can't be told.
var (
	// ErrGone says that the process has ended, or that its id belongs to another one by now.
	ErrGone = errors.New("that process has ended")
	// ErrUnsettled says that the processes above one come and go too fast to be looked at.
	ErrUnsettled = errors.New("the processes above that one don't hold still")
	// ErrNoPeer says that no process of this user is at the other end, as far as can be seen: it may be on another
	// machine, be another user's, or hide.
	ErrNoPeer = errors.New("no process of this user is at the other end")
)

const (
	maxDepth = 256 // processes above one another
	maxTries = 8   // looks at a chain, until two in a row say the same
)

// Alive reports whether p still runs, be it as a zombie.
func (p Process) Alive() bool {
	now, err := Of(p.PID)
	return err == nil && now == p
}

// Descends reports whether a process is of, or descends from it. The error is that of Chain.
func Descends(pid int, of Process) (bool, error) {
	chain, err := Chain(pid)
	if err != nil {
		return false, err
	}
	for _, p := range chain {
		if p == of {
			return true, nil
		}
	}
	return false, nil
}

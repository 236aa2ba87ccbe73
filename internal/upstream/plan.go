package upstream

import (
	"errors"
	"io/fs"
	"net/http"
	"os/exec"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/transport"
)

// plan says what follows when a server is lost or can't be reached (C2, C5). It only decides.
type plan struct {
	process bool // the server is a child of ours
	enabled bool
	backoff lifecycle.Backoff
	stable  time.Duration
}

func planFor(process bool, s lifecycle.Settings) plan {
	if process {
		return plan{true, s.Restart.Enabled, s.Restart.Backoff, s.Restart.Stable}
	}
	return plan{false, s.Reconnect.Enabled, s.Reconnect.Backoff, s.Restart.Stable}
}

// next returns how long to wait before the next dial after so many failures in a row, or that there is none. A server that
// asks for more time gets it.
func (p plan) next(failures int, err error, random float64) (wait time.Duration, goOn bool) {
	if !p.enabled || failures > p.backoff.Steps || isHopeless(err) || p.process && cantStart(err) {
		return 0, false
	}
	return max(p.backoff.Wait(failures, random), askedToWait(err)), true
}

// isFar tells a wait that is longer than any of the ladder's own: no call waits with it.
func (p plan) isFar(wait time.Duration) bool {
	return wait > time.Duration(float64(p.backoff.Cap)*(1+p.backoff.Jitter))
}

// startsAnew reports whether a connection that lived for so long, and had answered a call or not, has made up for the
// failures before it.
func (p plan) startsAnew(lived time.Duration, served bool) bool {
	return lived >= p.stable || !p.process && served
}

// fallen is the state while the plan is carried out.
func (p plan) fallen() State {
	if p.process {
		return Restarting
	}
	return Reconnecting
}

// end is the state when the plan has come to its end.
func (p plan) end() State {
	if p.process {
		return Failed
	}
	return Unavailable
}

// kind is what a call fails with that was under way at the nth failure.
func (p plan) kind(nth int) fault.Kind {
	switch {
	case p.enabled && p.process && nth > p.backoff.Steps:
		return fault.Unavailable
	case nth > 1 && p.process:
		return fault.Unstable
	}
	return fault.Restarted
}

// cantStart tells a program that isn't there, or may not be run.
func cantStart(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// isHopeless tells the failures that the same attempt would only meet again: each 4xx but those that pass by themselves,
// and an entry that can't be used.
func isHopeless(err error) bool {
	if p, ok := errors.AsType[interface {
		error
		Permanent() bool
	}](err); ok && p.Permanent() {
		return true
	}
	if e, ok := errors.AsType[*transport.StatusError](err); ok {
		passing := e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests
		return e.Status >= 400 && e.Status < 500 && !passing
	}
	switch fault.KindOf(err) {
	case fault.Auth, fault.InvalidParams:
		return true
	}
	return false
}

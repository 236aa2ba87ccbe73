package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/usher-mcp/usher/fault"
)

// Why Append refuses events although the log is well.
var (
	ErrClosed  = errors.New("the journal is closed")
	ErrEnded   = errors.New("the session has ended")
	ErrUnknown = errors.New("the session was not started: its first event must be session.started")
)

var (
	errFull    = errors.New("too much waits to be written")
	errSpoiled = errors.New("what waited to be written was changed by another program; start usher again")
)

const hintDir = "Set log.dir in the config or USHER_DATA to a folder that can be written"

// unavailable says what failed in which folder, and what a person can do.
func unavailable(dir string, err error) error {
	if err == nil || errors.Is(err, ErrClosed) {
		return err
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	return &fault.Error{
		Kind:   fault.LogUnavailable,
		Detail: fmt.Sprintf("folder %s: %s", dir, reason(err)),
		Hint:   hint(dir, err),
		Cause:  err,
	}
}

func reason(err error) string {
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		return no.Error()
	}
	return err.Error()
}

func hint(dir string, err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, errFull):
		return "Free space on the disk that holds " + dir + "; what waits is written then"
	case errors.Is(err, syscall.EIO):
		return "Check the disk that holds " + dir
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "Raise the limit of open files (ulimit -n)"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "Make it writable, or set log.dir in the config or USHER_DATA to another folder"
	}
	return hintDir
}

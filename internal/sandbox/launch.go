package sandbox

import (
	"context"
	"fmt"
	"io"
	"os"
)

// Launcher starts children. Its zero value works, without a watchdog.
type Launcher struct {
	// Watchdog is the start of a command line that ends up in [Watchdog], such as
	// {"/proc/self/exe", "__watchdog"}: a full path (that one still is the running
	// program after it was replaced on disk) and what its main looks for. The
	// child's command name is appended, for people who read a process list.
	// Empty: no watchdog.
	Watchdog []string
}

// Spec says what to start.
type Spec struct {
	// Command is a name looked up in the PATH of Env, or a path, which is taken
	// from Dir when it is relative. Relative directories in PATH are passed over.
	Command string
	Args    []string // without the command itself
	Env     []string // the complete environment as NAME=value, see [Environ]
	Dir     string   // working directory; empty: ours
	// Stderr gets what the child writes there, from one goroutine; it should not
	// block for long, or the child blocks too. After its first error the rest is
	// read and dropped. Nil: dropped.
	Stderr io.Writer
}

// Start starts a child. Its error is a [*StartError], or one that wraps ctx's.
// ctx bounds the starting only, and alone does so: with a Watchdog command that
// never answers Start waits for ctx, and up to 1.5 s more to end it. The child
// ends by [Process.Stop], which has to be called in any case. Concurrent calls are
// fine.
func (l Launcher) Start(ctx context.Context, s Spec) (*Process, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("start %q: %w", s.Command, err)
	}
	c, err := resolve(s)
	if err != nil {
		return nil, err
	}
	pipes, err := openStdio(s.Stderr != nil)
	if err != nil {
		return nil, startError(s.Command, err)
	}
	p := newProcess(pipes)
	err = l.start(ctx, p, c, pipes.child)
	closeAll(pipes.child[:])
	if err != nil {
		closeAll([]*os.File{pipes.stdin, pipes.stdout, pipes.stderr})
		return nil, err
	}
	go p.drain(s.Stderr)
	return p, nil
}

func (l Launcher) start(ctx context.Context, p *Process, c command, child [3]*os.File) error {
	if len(l.Watchdog) == 0 {
		return startDirect(p, c, child)
	}
	return startWatched(ctx, l.Watchdog, p, c, child)
}

// stdio is both sides of a child's three streams. All are close-on-exec.
type stdio struct {
	child                 [3]*os.File
	stdin, stdout, stderr *os.File // ours; stderr is nil when it goes nowhere
}

func openStdio(wantStderr bool) (s stdio, err error) {
	defer func() {
		if err != nil {
			closeAll(append(s.child[:], s.stdin, s.stdout, s.stderr))
		}
	}()
	if s.child[0], s.stdin, err = os.Pipe(); err != nil {
		return s, err
	}
	if s.stdout, s.child[1], err = os.Pipe(); err != nil {
		return s, err
	}
	if wantStderr {
		s.stderr, s.child[2], err = os.Pipe()
	} else {
		s.child[2], err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return s, err
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

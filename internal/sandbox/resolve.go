package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// StartError says why a child could not be started and what to do about it.
type StartError struct {
	Command string // as it was asked for
	Problem string
	Advice  string
	Err     error // the cause, for errors.Is
}

var _ error = (*StartError)(nil)

// Error names the command, what is wrong with it and what to do.
func (e *StartError) Error() string {
	return fmt.Sprintf("start %q: %s: %s", e.Command, e.Problem, e.Advice)
}

// Unwrap returns Err.
func (e *StartError) Unwrap() error { return e.Err }

// command is a checked [Spec]: path and dir are absolute.
type command struct {
	path, dir string
	argv, env []string
}

func resolve(s Spec) (command, error) {
	c := command{argv: append([]string{s.Command}, s.Args...), env: s.Env}
	if s.Command == "" {
		return c, &StartError{s.Command, "no command is given", "set the command of the entry", fs.ErrInvalid}
	}
	for _, text := range append(append([]string{s.Dir}, c.argv...), c.env...) {
		if strings.IndexByte(text, 0) >= 0 {
			return c, &StartError{s.Command, "a NUL byte in its command line, environment or directory",
				"remove it from the entry", fs.ErrInvalid}
		}
	}
	var err error
	if c.dir, err = directory(s); err != nil {
		return c, err
	}
	c.path, err = find(s, c.dir)
	return c, err
}

func directory(s Spec) (string, error) {
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return "", startError(s.Command, err)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &StartError{s.Command, fmt.Sprintf("its working directory %s does not exist", dir),
			"create it or correct the entry", err}
	case err != nil:
		return "", &StartError{s.Command, fmt.Sprintf("its working directory %s can't be used (%v)", dir, err),
			"correct its permissions or the entry", err}
	case !info.IsDir():
		return "", &StartError{s.Command, fmt.Sprintf("its working directory %s is not a directory", dir),
			"correct the entry", syscall.ENOTDIR}
	}
	return dir, nil
}

// find returns the program's path. A relative directory in PATH would let
// whoever can write to the working directory choose the program.
func find(s Spec, dir string) (string, error) {
	if strings.ContainsRune(s.Command, filepath.Separator) {
		path := s.Command
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path, checkProgram(s.Command, path)
	}
	path, ok := lookupEnv(s.Env, "PATH")
	if !ok {
		return "", &StartError{s.Command, "command not found: its environment has no PATH",
			"give its full path, or set PATH for the entry", fs.ErrNotExist}
	}
	var searched []string
	var denied error
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			continue
		}
		searched = append(searched, d)
		full := filepath.Join(d, s.Command)
		err := checkProgram(s.Command, full)
		if err == nil {
			return full, nil
		}
		if denied == nil && !errors.Is(err, fs.ErrNotExist) {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	if strings.ContainsAny(s.Command, " \t") {
		return "", &StartError{s.Command, "command not found", "it has spaces: put what follows the program's name into args", fs.ErrNotExist}
	}
	return "", &StartError{s.Command, "command not found",
		fmt.Sprintf("install it, give its full path, or set PATH for the entry (searched %s)", strings.Join(searched, ", ")), fs.ErrNotExist}
}

func checkProgram(name, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &StartError{name, fmt.Sprintf("command not found: %s does not exist", path),
			"install it or correct the entry", fs.ErrNotExist}
	case err != nil:
		return &StartError{name, fmt.Sprintf("%s can't be used (%v)", path, err),
			"correct its permissions or the entry", err}
	case info.IsDir():
		return &StartError{name, fmt.Sprintf("%s is a directory", path), "name the program within it", syscall.EISDIR}
	case info.Mode()&0o111 == 0:
		return &StartError{name, fmt.Sprintf("%s is not executable", path),
			fmt.Sprintf("run chmod +x on it, or name its interpreter as the command (for instance: python3 %s)", path), fs.ErrPermission}
	}
	return nil
}

// startError explains what the system said about a program that looked fine.
func startError(name string, err error) error {
	e := &StartError{Command: name, Problem: err.Error(), Advice: "see the system's logs, or start it by hand", Err: err}
	switch {
	case errors.Is(err, syscall.ENOENT):
		e.Problem = "its interpreter (the first line of a script) or its loader is missing"
		e.Advice = "install that, or name the interpreter as the command"
	case errors.Is(err, syscall.ENOEXEC):
		e.Problem = "this system can't run the file (" + err.Error() + ")"
		e.Advice = "a script needs a first line such as #!/bin/sh; a program has to be built for this machine"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		e.Advice = "check that you may run the file and enter its working directory, and that its file system isn't mounted noexec"
	case errors.Is(err, syscall.E2BIG):
		e.Advice = "shorten the arguments or the environment of the entry"
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		e.Advice = "too many processes or too little memory: end some programs, or raise the limit (ulimit -u)"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		e.Advice = "too many open files: raise the limit (ulimit -n) or run fewer servers"
	}
	return e
}

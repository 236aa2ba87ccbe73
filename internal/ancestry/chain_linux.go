package ancestry

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// link is a process in a chain.
type link struct {
	Process
	parent, group, session int
}

// Of is the process that has an id now. The error is ErrGone where there is none.
func Of(pid int) (Process, error) {
	l, err := look(pid)
	return l.Process, err
}

// Self is this process.
func Self() (Process, error) { return Of(os.Getpid()) }

// Chain is a process and all above it, itself first, as far as this user may see them. A process whose parent has ended
// has the one above it that takes such orphans (a subreaper, or init) as its parent. The error is ErrGone or
// ErrUnsettled.
func Chain(pid int) ([]Process, error) {
	links, err := chain(pid)
	var all []Process
	for _, l := range links {
		all = append(all, l.Process)
	}
	return all, err
}

// chain looks until nothing has changed between two looks: a parent that ends, or an id that is given out anew, would
// make a chain that never was.
func chain(pid int) ([]link, error) {
	var last []link
	for range maxTries {
		now, err := climb(pid)
		if errors.Is(err, ErrGone) {
			return nil, err
		}
		if err == nil && slices.Equal(now, last) {
			return now, nil
		}
		last = now
	}
	return nil, ErrUnsettled
}

// climb is one look. ErrGone is about pid itself.
func climb(pid int) ([]link, error) {
	l, err := look(pid)
	if err != nil {
		return nil, ErrGone
	}
	links := []link{l}
	for l.parent > 0 {
		up, err := look(l.parent)
		switch {
		case err != nil && syscall.Kill(l.parent, 0) == syscall.EPERM:
			return links, nil // /proc hides other users' processes; it is none of ours
		case err != nil, up.Start > l.Start, len(links) == maxDepth:
			return nil, ErrUnsettled
		}
		links, l = append(links, up), up
	}
	return links, nil
}

// look reads proc_pid_stat(5).
func look(pid int) (link, error) {
	if pid <= 0 {
		return link{}, ErrGone
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return link{}, ErrGone
	}
	return parseStat(pid, stat)
}

// parseStat parses "pid (name) state ppid pgrp session … starttime …". The name is the process's own choice and may
// hold anything.
func parseStat(pid int, stat []byte) (link, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const parent, group, session, start = 1, 2, 3, 19
	if len(fields) <= start {
		return link{}, ErrGone
	}
	var n [4]uint64
	for i, at := range [...]int{parent, group, session, start} {
		v, err := strconv.ParseUint(string(fields[at]), 10, 64)
		if err != nil {
			return link{}, ErrGone
		}
		n[i] = v
	}
	return link{Process{pid, n[3]}, int(n[0]), int(n[1]), int(n[2])}, nil
}

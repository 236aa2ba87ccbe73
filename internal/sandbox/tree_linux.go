package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// proc is one line of the process table.
type proc struct {
	pid, ppid, pgrp int
	zombie          bool
}

// processes reads the process table. It isn't a snapshot: what forks, exits or
// changes its parent meanwhile may be missing, so whoever must be sure repeats.
func processes() ([]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	procs := make([]proc, 0, len(names))
	buf := make([]byte, 512)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readStat(pid, buf); ok {
			procs = append(procs, p)
		}
	}
	return procs, nil
}

// readStat parses "pid (name) state ppid pgrp ..." of proc_pid_stat(5).
func readStat(pid int, buf []byte) (proc, bool) {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return proc{}, false
	}
	n, err := syscall.Read(fd, buf)
	_ = syscall.Close(fd)
	if err != nil || n <= 0 {
		return proc{}, false
	}
	return parseStat(pid, buf[:n])
}

func parseStat(pid int, stat []byte) (proc, bool) {
	// The name is the process's own choice and may hold parentheses and spaces.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 {
		return proc{}, false
	}
	ppid, err1 := strconv.Atoi(string(fields[1]))
	pgrp, err2 := strconv.Atoi(string(fields[2]))
	return proc{pid, ppid, pgrp, fields[0][0] == 'Z'}, err1 == nil && err2 == nil
}

// descendants returns all below root, without root.
func descendants(procs []proc, root int) []proc {
	children := make(map[int][]proc)
	for _, p := range procs {
		children[p.ppid] = append(children[p.ppid], p)
	}
	found := children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}

// below returns all below root by the lists of children that the kernel keeps. It costs what the tree is large, not what
// the machine runs. It is as little a snapshot as processes. False: this kernel has no such lists.
func below(root int) (found []proc, ok bool) {
	buf := make([]byte, 512)
	for todo := []int{root}; len(todo) > 0; {
		pid := todo[0]
		todo = todo[1:]
		dir := "/proc/" + strconv.Itoa(pid) + "/task"
		tasks, err := os.ReadDir(dir)
		if err != nil {
			continue // it is gone
		}
		for _, task := range tasks {
			list, err := os.ReadFile(dir + "/" + task.Name() + "/children")
			ok = ok || err == nil
			for _, field := range bytes.Fields(list) {
				child, err := strconv.Atoi(string(field))
				if err != nil {
					continue
				}
				if p, there := readStat(child, buf); there {
					found, todo = append(found, p), append(todo, child)
				}
			}
		}
	}
	return found, ok
}

// tree names the processes to end.
type tree struct {
	root  int    // all descendants of this process; 0: none but the group
	pgid  int    // the group of the child
	child *child // nil: somebody else waits for it
}

// child tells whether ours still exists, be it as a zombie: as long as it does, no stranger's group has its id.
type child struct {
	mu     sync.Mutex
	reaped bool
}

// signal sends sig to the child's group without looking at the process table; false if the child is gone.
func (c *child) signal(pgid int, sig syscall.Signal) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		_ = syscall.Kill(-pgid, sig)
	}
	return !c.reaped
}

// wait waits for the child's end, and reaps it while nobody signals.
func (c *child) wait(pid int) Exit {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == syscall.EINTR {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	return waitFor(pid)
}

// members are the processes of the tree as far as one look finds them.
func (t tree) members() ([]proc, error) {
	if t.root != 0 {
		if found, ok := below(t.root); ok {
			return found, nil
		}
	}
	procs, err := processes()
	if err != nil {
		return nil, err
	}
	if t.root != 0 {
		return descendants(procs, t.root), nil
	}
	var found []proc
	for _, p := range procs {
		if p.pgrp == t.pgid {
			found = append(found, p)
		}
	}
	return found, nil
}

// signal sends sig once to each process of the tree. The group gets it in one
// call, which no fork can slip past, but only while it was just seen to exist: an
// empty group's id may belong to a stranger by now.
func (t tree) signal(sig syscall.Signal) {
	if t.child != nil && (t.child.signal(t.pgid, sig) || syscall.Kill(-t.pgid, 0) == syscall.ESRCH) {
		return
	}
	found, err := t.members()
	if err != nil {
		_ = syscall.Kill(-t.pgid, sig) // without /proc this is the best there is
		return
	}
	group := false
	for _, p := range found {
		if p.pgrp == t.pgid {
			group = true
			continue
		}
		_ = syscall.Kill(p.pid, sig)
	}
	if group {
		_ = syscall.Kill(-t.pgid, sig)
	}
}

// alive reports whether a look at the tree finds more than zombies.
func (t tree) alive() bool {
	if t.root == 0 && syscall.Kill(-t.pgid, 0) == syscall.ESRCH {
		return false // the usual case, without reading the table
	}
	found, err := t.members()
	if err != nil {
		return syscall.Kill(-t.pgid, 0) == nil
	}
	for _, p := range found {
		if !p.zombie {
			return true
		}
	}
	return false
}

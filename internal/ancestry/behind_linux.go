package ancestry

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// maxDriverFiles bounds how many open files of one process above are looked at.
const maxDriverFiles = 1 << 14

// Behind is the process that started this one to talk to it over in, its standard input. Where that is a socket, it is
// who made it; where it is a pipe, it is the nearest process above that can write to it: a shell or a package runner in
// between can't. Else it is the parent. The error is ErrGone where all of them have ended; init and the systemd of a user,
// from which everything descends, are never meant.
func Behind(in *os.File) (Process, error) {
	links, err := chain(os.Getpid())
	if err != nil {
		return Process{}, err
	}
	above := links[1:]
	made, pipe, err := otherEnd(in)
	if err != nil {
		return Process{}, err
	}
	for _, l := range above {
		if !isInit(l.PID) && (l.PID == made || pipe != "" && writes(l.PID, pipe)) {
			return l.Process, nil
		}
	}
	if len(above) == 0 || isInit(above[0].PID) {
		return Process{}, ErrGone
	}
	return above[0].Process, nil
}

// otherEnd is who made a pair of sockets, or what /proc calls a pipe.
func otherEnd(in *os.File) (maker int, pipe string, err error) {
	raw, err := in.SyscallConn() // Fd would make it block for good
	if err != nil {
		return 0, "", err
	}
	err = raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			maker = int(cred.Pid)
		}
		if to, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd))); err == nil && strings.HasPrefix(to, "pipe:[") {
			pipe = to
		}
	})
	return maker, pipe, err
}

// isInit reports whether orphans of all kinds end up below a process.
func isInit(pid int) bool { return pid <= 1 || Name(pid) == "systemd" }

// writes reports whether a process has a pipe open for writing.
func writes(pid int, pipe string) bool {
	for _, fd := range filesOf(pid, maxDriverFiles) {
		if to, err := os.Readlink(fd); err != nil || to != pipe {
			continue
		}
		var flags int
		info, err := os.ReadFile(strings.Replace(fd, "/fd/", "/fdinfo/", 1))
		if err != nil {
			continue
		}
		_, rest, _ := bytes.Cut(info, []byte("flags:"))
		if _, err := fmt.Sscanf(string(rest), "%o", &flags); err == nil && flags&syscall.O_ACCMODE != syscall.O_RDONLY {
			return true
		}
	}
	return false
}

const maxCommandLine = 4 << 10 // bytes that are looked at

// firstArgument is the one after the program's name; "" where there is none or it can't be seen.
func firstArgument(pid int) string {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCommandLine))
	if err != nil {
		return ""
	}
	args := bytes.SplitN(text, []byte{0}, 3)
	if len(args) < 2 {
		return ""
	}
	return string(args[1])
}

// Name is what a process calls itself, at most 15 bytes; it is untrusted. "" where it can't be seen.
func Name(pid int) string {
	name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(name))
}

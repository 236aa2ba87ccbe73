package approval

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// self names this process: where process ids are told apart, its id, and when it started, so that another process with
// the same id isn't taken for it.
func self() string {
	pid := os.Getpid()
	return fmt.Sprintf("%s/%d/%s", space(), pid, started(pid))
}

// space is the boot and the namespace that process ids belong to; empty where /proc doesn't say.
func space() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	ns, _ := os.Readlink("/proc/self/ns/pid")
	if len(boot) == 0 || ns == "" {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + ns
}

// started is when the process began, in the kernel's ticks; empty where there is none.
func started(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return ""
	}
	return string(fields[19])
}

// alive reports whether the process that self named runs. Of one that belongs to another boot it is known that it
// doesn't; of one in another namespace, which this process can't see, it isn't known.
func alive(owner string) bool {
	parts := strings.Split(owner, "/")
	here := strings.Split(space(), "/")
	if len(parts) != 4 || len(here) != 2 {
		return true
	}
	if parts[0] != here[0] {
		return false
	}
	if parts[1] != here[1] {
		return true
	}
	var pid int
	if _, err := fmt.Sscanf(parts[2], "%d", &pid); err != nil || pid <= 0 {
		return true
	}
	return started(pid) == parts[3]
}

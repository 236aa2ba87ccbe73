package config

import (
	"os"
	"syscall"
)

// openNow keeps an open of a pipe from waiting for a writer.
const openNow = syscall.O_NONBLOCK | syscall.O_NOCTTY

// rootsOnly says why a file isn't the administrator's alone, or "".
func rootsOnly(info os.FileInfo) string {
	switch st, ok := info.Sys().(*syscall.Stat_t); {
	case ok && st.Uid != 0:
		return "its owner isn't root"
	case info.Mode().Perm()&0o022 != 0:
		return "others than root may write to it"
	}
	return ""
}

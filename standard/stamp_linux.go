package standard

import (
	"io/fs"
	"syscall"
)

// changedAt is when a file's content or anything of it last changed. Unlike the time of modification nobody can set it.
func changedAt(info fs.FileInfo) syscall.Timespec {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim
	}
	return syscall.Timespec{}
}

package builtin

import "syscall"

// nonblock keeps the opening of a FIFO from waiting for a writer; directory refuses what isn't one.
const (
	nonblock  = syscall.O_NONBLOCK
	directory = syscall.O_DIRECTORY
)

package foreign

import "golang.org/x/sys/unix"

// openAtOnce keeps the opening of a FIFO from waiting for its other end.
const openAtOnce = unix.O_NONBLOCK | unix.O_NOCTTY

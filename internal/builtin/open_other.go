//go:build !linux

package builtin

// Elsewhere the look before the opening has to do.
const (
	nonblock  = 0
	directory = 0
)

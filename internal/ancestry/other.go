//go:build !linux

package ancestry

import (
	"errors"
	"net"
	"os"
)

type link struct {
	Process
	parent, group, session int
}

// Of isn't there on this system.
func Of(int) (Process, error) { return Process{}, errors.ErrUnsupported }

// Self isn't there on this system.
func Self() (Process, error) { return Process{}, errors.ErrUnsupported }

// Chain isn't there on this system.
func Chain(int) ([]Process, error) { return nil, errors.ErrUnsupported }

func chain(int) ([]link, error) { return nil, errors.ErrUnsupported }

func firstArgument(int) string { return "" }

// PeerOfTCP isn't there on this system.
func (*Finder) PeerOfTCP(net.Conn) ([]Process, error) { return nil, errors.ErrUnsupported }

// Behind isn't there on this system.
func Behind(*os.File) (Process, error) { return Process{}, errors.ErrUnsupported }

// Name isn't there on this system.
func Name(int) string { return "" }

package wake

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// netlink is a socket on which the kernel says what becomes of links and addresses (rtnetlink(7)).
type netlink struct {
	file *os.File
	buf  []byte
}

var _ network = (*netlink)(nil)

func openNetwork() (network, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	address := &unix.SockaddrNetlink{
		Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR,
	}
	if err := unix.Bind(fd, address); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	return &netlink{file: os.NewFile(uintptr(fd), "netlink"), buf: make([]byte, 8<<10)}, nil
}

// Wait reads one message. What it says doesn't matter: the addresses are looked at themselves. A message may be cut, and
// one that found no room is as good as any.
func (n *netlink) Wait() error {
	_, err := n.file.Read(n.buf)
	if errors.Is(err, unix.ENOBUFS) {
		return nil
	}
	return err
}

func (n *netlink) Close() error { return n.file.Close() }

package ancestry

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// What a look costs at most.
const (
	maxTable     = 16 << 20 // bytes of the kernel's table of connections, some 100,000 of them
	maxProcesses = 8192     // of this user
	maxFiles     = 1 << 17  // open files of all of them
	maxHolders   = 16       // processes that have one socket open
)

// PeerOfTCP are the processes of this user that have the other end of c open: one, unless it was handed on. Each end must
// be on this machine. The error is ErrNoPeer, or the operating system's. It costs milliseconds at the first connection of
// a process, and less then.
func (f *Finder) PeerOfTCP(c net.Conn) ([]Process, error) {
	ours, err := addrPort(c.LocalAddr())
	if err != nil {
		return nil, err
	}
	theirs, err := addrPort(c.RemoteAddr())
	if err != nil {
		return nil, err
	}
	if !theirs.Addr().IsLoopback() && theirs.Addr() != ours.Addr() {
		return nil, ErrNoPeer
	}
	inode, err := socketOf(theirs, ours)
	if err != nil {
		return nil, err
	}
	found := holders("socket:["+inode+"]", f.remembered())
	if len(found) == 0 {
		all, err := mine()
		if err != nil {
			return nil, err
		}
		found = holders("socket:["+inode+"]", all)
	}
	if len(found) == 0 {
		return nil, ErrNoPeer
	}
	f.remember(found)
	return found, nil
}

func addrPort(a net.Addr) (netip.AddrPort, error) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%v is no address of TCP", a)
	}
	p := tcp.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port()), nil
}

// socketOf is the inode of this user's socket that is bound to local and connected to remote. A program may have made an
// IPv4 connection with an IPv6 socket.
func socketOf(local, remote netip.AddrPort) (string, error) {
	tables := []string{"/proc/net/tcp6"}
	if local.Addr().Is4() {
		tables = []string{"/proc/net/tcp", "/proc/net/tcp6"}
	}
	for _, path := range tables {
		f, err := os.Open(path)
		if err != nil {
			continue // a kernel without IPv6
		}
		inode := findSocket(f, endpoint(local, path), endpoint(remote, path))
		_ = f.Close()
		if inode != "" {
			return inode, nil
		}
	}
	return "", ErrNoPeer
}

// endpoint is an address as the table has it: words in the order of this machine's bytes.
func endpoint(a netip.AddrPort, path string) string {
	b := a.Addr().AsSlice()
	if len(b) == 4 && strings.HasSuffix(path, "6") {
		mapped := a.Addr().As16()
		b = mapped[:]
	}
	out := make([]byte, 0, len(b))
	for w := range slices.Chunk(b, 4) {
		out = binary.BigEndian.AppendUint32(out, binary.NativeEndian.Uint32(w))
	}
	return fmt.Sprintf("%s:%04X", strings.ToUpper(hex.EncodeToString(out)), a.Port())
}

// findSocket looks for "sl local remote st queues timer retransmit uid timeout inode …".
func findSocket(table io.Reader, local, remote string) (inode string) {
	me := strconv.Itoa(os.Geteuid())
	lines := bufio.NewScanner(io.LimitReader(table, maxTable))
	for lines.Scan() {
		if !strings.Contains(lines.Text(), local) {
			continue
		}
		f := strings.Fields(lines.Text())
		if len(f) > 9 && f[1] == local && f[2] == remote && f[7] == me && f[9] != "0" {
			return f[9]
		}
	}
	return ""
}

// mine are this user's processes, the youngest first.
func mine() ([]Process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		info, err := os.Stat("/proc/" + name)
		if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
			continue
		}
		if p, err := Of(pid); err == nil && len(all) < maxProcesses {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Process) int { return b.PID - a.PID })
	return all, nil
}

// holders are those who have a file open that /proc calls name.
func holders(name string, among []Process) (found []Process) {
	left := maxFiles
	for _, p := range among {
		fds := filesOf(p.PID, left)
		left -= len(fds)
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && to == name {
				if p.Alive() {
					found = append(found, p)
				}
				break
			}
		}
		if left <= 0 || len(found) == maxHolders {
			break
		}
	}
	return found
}

// filesOf are the paths in /proc of the open files of a process; none where it can't be looked at.
func filesOf(pid, most int) []string {
	path := "/proc/" + strconv.Itoa(pid) + "/fd"
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(most)
	for i, name := range names {
		names[i] = path + "/" + name
	}
	return names
}

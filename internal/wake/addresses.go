package wake

import (
	"net"
	"slices"
	"strings"
)

// addresses describes the network as connections depend on it: the interfaces that are up, with their addresses. What is
// announced again and again, such as lifetimes, isn't in it. One that can't be read is empty.
func addresses(loopback bool) string {
	all, err := net.Interfaces()
	if err != nil {
		return ""
	}
	var lines []string
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagRunning == 0 || i.Flags&net.FlagLoopback != 0 && !loopback {
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addrs {
			lines = append(lines, i.Name+" "+a.String())
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

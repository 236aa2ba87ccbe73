package dial

import (
	"net/netip"
	"slices"
)

// Guard says whose word an address is, and with that what is refused.
type Guard uint8

const (
	// Configured is an address that the user wrote. It may be private, but not link-local, and not one where a cloud
	// tells its machines their credentials.
	Configured Guard = iota
	// Named is an address that a server or its metadata named. It must be public.
	Named
)

// RefusedError says that an address may not be reached.
type RefusedError struct {
	Addr netip.Addr // invalid where there was only a name
	Why  string
}

var _ error = (*RefusedError)(nil)

func (e *RefusedError) Error() string {
	if !e.Addr.IsValid() {
		return "refused: " + e.Why
	}
	return "the address " + e.Addr.String() + " is refused: " + e.Why
}

// Permanent tells that trying again is no use.
func (e *RefusedError) Permanent() bool { return true }

type block struct {
	prefix netip.Prefix
	what   string
}

func blocks(what string, prefixes ...string) []block {
	var out []block
	for _, p := range prefixes {
		out = append(out, block{netip.MustParsePrefix(p), what})
	}
	return out
}

// neverReached holds for both guards.
var neverReached = slices.Concat(
	blocks("link-local, where machines are told their credentials", "169.254.0.0/16", "fe80::/10"),
	blocks("an address where a cloud tells machines their credentials",
		"100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128"),
)

// notPublic are the ranges of the IANA special-purpose registries that are not reachable from everywhere, and the ones
// that hold an IPv4 address which somebody on the way would unpack.
var notPublic = slices.Concat(
	blocks("unspecified", "0.0.0.0/8", "::/128"),
	blocks("loopback", "127.0.0.0/8", "::1/128"),
	blocks("private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
	blocks("shared by a provider (CGNAT)", "100.64.0.0/10"),
	blocks("multicast", "224.0.0.0/4", "ff00::/8"),
	blocks("reserved", "240.0.0.0/4", "192.0.0.0/24", "192.88.99.0/24", "192.0.2.0/24", "198.51.100.0/24",
		"203.0.113.0/24", "198.18.0.0/15", "2001:db8::/32", "3fff::/20", "100::/64", "100:0:0:1::/64", "5f00::/16", "2001:2::/48", "2001:10::/28"),
	blocks("an IPv4 address inside an IPv6 one", "::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"),
)

// holdsIPv4 are the prefixes whose last 32 bits are an IPv4 address.
var holdsIPv4 = blocks("", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")

// nat64 is RFC 6052's prefix, which names a public server where there is only IPv6.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

func (g Guard) check(a netip.Addr, allow []netip.Prefix) error {
	a = a.WithZone("").Unmap()
	inner := embedded(a)
	if b, found := among(neverReached, append(inner, a)...); found {
		return &RefusedError{a, b.what}
	}
	if g != Named || slices.ContainsFunc(allow, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return nil
	}
	suspects := []netip.Addr{a}
	if nat64.Contains(a) {
		suspects = inner
	}
	if b, found := among(notPublic, suspects...); found {
		return &RefusedError{a, b.what + ", and it wasn't you who configured it"}
	}
	return nil
}

func among(list []block, addrs ...netip.Addr) (block, bool) {
	for _, b := range list {
		if slices.ContainsFunc(addrs, b.prefix.Contains) {
			return b, true
		}
	}
	return block{}, false
}

// embedded returns the IPv4 addresses that a may stand for: as IPv4-compatible, IPv4-translated, NAT64 or 6to4.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	b := a.As16()
	last := netip.AddrFrom4([4]byte(b[12:]))
	if _, found := among(holdsIPv4, a); found {
		return []netip.Addr{last}
	}
	if b[0] == 0x20 && b[1] == 0x02 {
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	}
	return nil
}

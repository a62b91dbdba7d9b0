package egress

import "net/netip"

// special is a range of addresses that no customer's host may have.
type special struct {
	prefix netip.Prefix
	what   string
}

// special4 is IANA's IPv4 Special-Purpose Address Registry (RFC 6890) without
// the blocks it marks globally reachable, with multicast (RFC 5771) and one
// address that a cloud gave a private meaning.
var special4 = []special{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network (RFC 791)"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private (RFC 1918)"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared address space (RFC 6598)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback (RFC 1122)"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a platform's host agent"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local (RFC 3927)"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private (RFC 1918)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments (RFC 6890)"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation (RFC 5737)"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relays (RFC 7526)"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private (RFC 1918)"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking (RFC 2544)"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation (RFC 5737)"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation (RFC 5737)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast (RFC 5771)"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved or broadcast (RFC 1112, RFC 8190)"},
}

// global6 is all of IPv6 that is given out for unicast (IANA's IPv6 Global
// Unicast Address Assignments). Outside of it is every form that wraps an IPv4
// address but 6to4 and Teredo: mapped, compatible, translated, NAT64.
var global6 = netip.MustParsePrefix("2000::/3")

// special6 is what IANA's IPv6 Special-Purpose Address Registry takes out of global6.
var special6 = []special{
	{netip.MustParsePrefix("2001::/23"), "protocol assignments, Teredo among them (RFC 2928, RFC 4380)"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation (RFC 3849)"},
	{netip.MustParsePrefix("2002::/16"), "6to4 (RFC 3056)"},
	{netip.MustParsePrefix("3fff::/20"), "documentation (RFC 9637)"},
}

// refuseAddress is nil for a public unicast address. Ranges are compared as
// numbers, never as text.
func refuseAddress(a netip.Addr) error {
	what := ""
	ranges := special6
	switch {
	case a.Zone() != "":
		what = "of a zone (RFC 4007)"
	case a.Is4():
		ranges = special4
	case a.Is4In6():
		what = "IPv4 in IPv6 (RFC 4291)"
	case !global6.Contains(a):
		what = "no global unicast (RFC 4291)"
	}
	for _, s := range ranges {
		if what == "" && s.prefix.Contains(a) {
			what = s.what
		}
	}
	if what == "" {
		return nil
	}
	return &RefusedError{ReasonAddress, "the address is " + what, a}
}

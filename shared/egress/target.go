package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Target is an address and port that is opened although it is not public: a
// receiver on the developer's own machine.
type Target struct {
	host  string // as it was written
	port  uint16
	addrs []netip.Addr
}

// ParseTarget reads HOST:PORT. HOST is an address, or a name that is looked up
// once, now: the addresses it has are what is opened.
func ParseTarget(ctx context.Context, r Resolver, text string) (Target, error) {
	host, portText, err := net.SplitHostPort(text)
	if err != nil {
		return Target{}, fmt.Errorf("egress: target %q must be HOST:PORT", text)
	}
	t := Target{host: strings.ToLower(host)}
	if t.port, err = parsePort(portText); err != nil {
		return Target{}, fmt.Errorf("egress: target %q: %w", text, err)
	}
	if a, err := netip.ParseAddr(host); err == nil {
		t.addrs = []netip.Addr{a}
	} else if err := checkLabels(t.host, strings.Split(t.host, ".")); err != nil {
		return Target{}, fmt.Errorf("egress: target %q: %w", text, err)
	} else if t.addrs, err = lookUp(ctx, r, t.host); err != nil {
		return Target{}, fmt.Errorf("egress: target %q: %w", text, err)
	}
	for _, a := range t.addrs {
		// The unspecified address means all of the machine's own: not one target.
		if a.IsUnspecified() || a.IsMulticast() || a.Is4In6() || a.Zone() != "" {
			return Target{}, fmt.Errorf("egress: target %q: %s is not one host's address", text, a)
		}
	}
	return t, nil
}

// String is HOST:PORT, as it was written.
func (t Target) String() string { return net.JoinHostPort(t.host, fmt.Sprint(t.port)) }

// named says whether a URL names this target, in the words in which it was
// opened or by its address.
func (t Target) named(d destination) bool {
	return d.port == t.port && (d.bareHost() == t.host || t.has(d.addr()))
}

// opens says whether a connection may be made there.
func (t Target) opens(to netip.AddrPort) bool { return to.Port() == t.port && t.has(to.Addr()) }

func (t Target) has(a netip.Addr) bool {
	for _, own := range t.addrs {
		if own == a {
			return true
		}
	}
	return false
}

// Package egress is how Warden calls hosts that customers name: webhook
// endpoints, identity providers. It is the only way there: whoever makes an
// HTTP client of their own for such a host opens the network Warden runs in.
//
// A target is judged twice. The URL's text, by Guard.CheckURL, when it is
// registered and again before each request. And the concrete address, in the
// moment the socket is connected: whatever a name resolves to by then, however
// often it is looked up, no connection to an address that is not public is
// opened. Redirects are answers, not followed. Proxies of the environment are
// ignored. Time, headers and body of an answer are bounded.
package egress

import (
	"context"
	"net"
	"net/netip"
)

// Resolver looks names up; *net.Resolver is one.
type Resolver interface {
	// LookupNetIP returns a name's addresses. The name is rooted: it ends with a dot.
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

var _ Resolver = (*net.Resolver)(nil)

// Guard says which targets may be called. The zero Guard admits public https
// targets only.
type Guard struct {
	Resolver Resolver // nil: the system's
	Allowed  []Target // opened although not public, http included
}

// Allow is the guard that opens one target more.
func (g Guard) Allow(t Target) Guard {
	g.Allowed = append(append([]Target(nil), g.Allowed...), t)
	return g
}

// CheckURL judges a URL by its text, without looking anything up. It must be
// https with a fully qualified public name or a public address, in plain ASCII,
// without credentials or fragment; http only for allowed targets. The error is a
// *RefusedError.
func (g Guard) CheckURL(raw string) error {
	_, err := g.check(raw)
	return err
}

func (g Guard) check(raw string) (destination, error) {
	d, err := split(raw)
	if err != nil {
		return d, err
	}
	for _, t := range g.Allowed {
		if t.named(d) {
			return d, nil
		}
	}
	if err := checkHost(d.host); err != nil {
		return d, err
	}
	if d.url.Scheme != "https" {
		return d, refuse(ReasonScheme, "must be https")
	}
	return d, nil
}

// CheckAddr judges the address a connection is about to be made to. The error
// is a *RefusedError.
func (g Guard) CheckAddr(to netip.AddrPort) error {
	for _, t := range g.Allowed {
		if t.opens(to) {
			return nil
		}
	}
	return refuseAddress(to.Addr())
}

// Resolve is CheckURL with the name looked up, for early feedback: the answer
// may be another when it counts. The error is a *RefusedError, or what the
// look-up met (KindOf says dns_error).
func (g Guard) Resolve(ctx context.Context, raw string) error {
	d, err := g.check(raw)
	if err != nil {
		return err
	}
	_, err = g.addresses(ctx, d.bareHost(), d.port)
	return err
}

// addresses are where a host may be called: of those it has, the ones that are
// not refused. One refused address does not refuse the others, because a
// network with DNS64 gives a NAT64 address to every host that has none of IPv6.
func (g Guard) addresses(ctx context.Context, host string, port uint16) ([]netip.AddrPort, error) {
	found, err := g.lookUp(ctx, host, port)
	if err != nil {
		return nil, err
	}
	var open []netip.AddrPort
	var refused error
	for _, a := range found {
		to := netip.AddrPortFrom(a, port)
		if err := g.CheckAddr(to); err != nil {
			refused = err
			continue
		}
		open = append(open, to)
	}
	if len(open) == 0 {
		return nil, refused
	}
	return open, nil
}

// lookUp are a host's addresses, at least one. An allowed name has those it had
// when it was allowed.
func (g Guard) lookUp(ctx context.Context, host string, port uint16) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	for _, t := range g.Allowed {
		if t.host == host && t.port == port {
			return t.addrs, nil
		}
	}
	// Rooted, so that no search domain of the machine is tried.
	return lookUp(ctx, g.Resolver, host+".")
}

func lookUp(ctx context.Context, r Resolver, host string) ([]netip.Addr, error) {
	if r == nil {
		r = net.DefaultResolver
	}
	found, err := r.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, &lookupError{err}
	}
	if len(found) == 0 {
		return nil, &lookupError{errNoAddress}
	}
	for i, a := range found {
		found[i] = a.Unmap() // net gives IPv4 addresses in either form
	}
	return found, nil
}

package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// maxAddresses is how many addresses of a host are tried: names that have
// hundreds would only spend the time of the request.
const maxAddresses = 4

// dialer opens connections where its guard lets it.
type dialer struct {
	guard   Guard
	timeout time.Duration // for look-up, connection and TLS handshake
	tls     *tls.Config
	socket  net.Dialer
}

func newDialer(g Guard, timeout time.Duration, config *tls.Config) *dialer {
	d := &dialer{guard: g, timeout: timeout, tls: config}
	// Called with the address of each socket before it connects. Whatever was
	// decided until then, this is the decision.
	d.socket.Control = func(network, address string, _ syscall.RawConn) error {
		return d.control(network, address)
	}
	return d
}

func (d *dialer) control(network, address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return refuse(ReasonAddress, "the address is none of TCP")
	}
	return d.guard.CheckAddr(to)
}

// dial opens a plain connection to a host's first address that answers.
func (d *dialer) dial(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	return d.connect(ctx, address)
}

// dialTLS opens a connection and proves that it leads to the host.
func (d *dialer) dialTLS(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	plain, err := d.connect(ctx, address)
	if err != nil {
		return nil, err
	}
	config := d.tls.Clone()
	config.ServerName = host
	conn := tls.Client(plain, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(&handshakeError{err}, plain.Close())
	}
	return conn, nil
}

func (d *dialer) connect(ctx context.Context, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := parsePort(portText)
	if err != nil {
		return nil, err
	}
	open, err := d.guard.addresses(ctx, strings.ToLower(host), port)
	if err != nil {
		return nil, err
	}
	open = open[:min(len(open), maxAddresses)]
	for i, to := range open {
		var conn net.Conn
		if conn, err = d.try(ctx, to, len(open)-i); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// try connects to one address within its share of the time that is left.
func (d *dialer) try(ctx context.Context, to netip.AddrPort, left int) (net.Conn, error) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
		defer cancel()
	}
	return d.socket.DialContext(ctx, "tcp", to.String())
}

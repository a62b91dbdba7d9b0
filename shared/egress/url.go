package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// MaxURL is the longest URL that is called, in bytes.
const MaxURL = 2048

// destination is a URL taken apart. Host is as it was written, in lower case,
// with the brackets of an IPv6 address.
type destination struct {
	url  *url.URL
	host string
	port uint16
}

// bareHost is the host as it is dialled and as certificates name it.
func (d destination) bareHost() string { return strings.Trim(d.host, "[]") }

// addr is the host's address, the zero Addr when it is a name.
func (d destination) addr() netip.Addr {
	a, err := netip.ParseAddr(d.bareHost())
	if err != nil {
		return netip.Addr{}
	}
	return a
}

// split takes a URL apart by a grammar so narrow that no two parsers can differ
// on its host: what it passes, net/url must have read in the same way.
func split(raw string) (destination, error) {
	var d destination
	if err := checkText(raw); err != nil {
		return d, err
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return d, refuse(ReasonURL, "must be like https://host/path")
	}
	if scheme = strings.ToLower(scheme); scheme != "https" && scheme != "http" {
		return d, refuse(ReasonScheme, "must be https")
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		authority = rest[:end]
	}
	if strings.Contains(authority, "@") {
		return d, refuse(ReasonUserinfo, "must have no credentials before the host")
	}
	host, port, err := splitAuthority(authority, scheme)
	if err != nil {
		return d, err
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != scheme || u.Host != authority || u.User != nil || u.Opaque != "" || u.Fragment != "" {
		return d, refuse(ReasonURL, "is not read alike by all parsers")
	}
	return destination{u, strings.ToLower(host), port}, nil
}

// checkText admits the characters of RFC 3986, section 2, with whole
// percent-encodings, and no fragment.
func checkText(raw string) error {
	if raw == "" || len(raw) > MaxURL {
		return refuse(ReasonURL, "must have 1 to 2048 bytes")
	}
	for i := range len(raw) {
		switch c := raw[i]; {
		case c == '#':
			return refuse(ReasonFragment, "must have no fragment")
		case c == '%' && (i+2 >= len(raw) || !isHex(raw[i+1]) || !isHex(raw[i+2])):
			return refuse(ReasonURL, "has a percent sign that encodes nothing")
		case c <= ' ' || c > '~' || strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			return refuse(ReasonURL, "must be printable ASCII; percent-encode the rest, and write an internationalised host in its xn-- form")
		}
	}
	return nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// splitAuthority separates host and port; the port is the scheme's own when
// there is none.
func splitAuthority(authority, scheme string) (host string, port uint16, err error) {
	var written string
	var hasPort bool
	if bracket := strings.IndexByte(authority, ']'); strings.HasPrefix(authority, "[") && bracket > 0 {
		host = authority[:bracket+1]
		written, hasPort = strings.CutPrefix(authority[bracket+1:], ":")
		if !hasPort && written != "" {
			return "", 0, refuse(ReasonHost, "has characters after an address in brackets")
		}
	} else {
		host, written, hasPort = strings.Cut(authority, ":")
	}
	switch {
	case host == "":
		return "", 0, refuse(ReasonHost, "must have a host")
	case strings.Contains(host, "%"):
		return "", 0, refuse(ReasonHost, "must have no percent-encoding in its host, and no zone")
	case !hasPort && scheme == "http":
		return host, 80, nil
	case !hasPort:
		return host, 443, nil
	}
	port, err = parsePort(written)
	return host, port, err
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return 0, refuse(ReasonPort, "a port is a number from 1 to 65535")
	}
	return uint16(n), nil
}

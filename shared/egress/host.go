package egress

import (
	"net/netip"
	"slices"
	"strings"
)

// The lengths of a name and its labels (RFC 1035, section 2.3.4).
const (
	maxName  = 253
	maxLabel = 63
)

// privateZones are top-level and other zones that the public DNS does not serve,
// or that mean the machine or network one is on: IANA's Special-Use Domain Names
// (RFC 6761, 6762, 7686, 8375, 9476), .internal (ICANN, 2024) and the names that
// RFC 6762, appendix G, and ICANN's collision studies found in private use.
// All of arpa is infrastructure.
var privateZones = []string{
	"alt", "arpa", "corp", "example", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain",
	"localhost", "mail", "onion", "private", "svc", "test",
}

// checkHost tests a URL's host as it was written: an address in its canonical
// form, in brackets for IPv6, or a name of the public DNS in ASCII.
func checkHost(host string) error {
	if literal, ok := strings.CutPrefix(host, "["); ok {
		a, err := netip.ParseAddr(strings.TrimSuffix(literal, "]"))
		if err != nil || !a.Is6() {
			return refuse(ReasonHost, "an address in brackets must be an IPv6 address")
		}
		return refuseAddress(a)
	}
	host = strings.ToLower(host)
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	if isNumber(last) {
		// Resolvers read 127.1, 0177.0.0.1 and 2130706433 as addresses too (inet_aton).
		a, err := netip.ParseAddr(host)
		if err != nil {
			return refuse(ReasonHost, "an IPv4 address must be four decimal numbers")
		}
		return refuseAddress(a)
	}
	if err := checkLabels(host, labels); err != nil {
		return err
	}
	if len(labels) == 1 {
		return refuse(ReasonName, "a host name must be fully qualified")
	}
	if slices.Contains(privateZones, last) {
		return refuse(ReasonName, "the public DNS does not serve ."+last)
	}
	return nil
}

// checkLabels tests a name's form: letters, digits and hyphens (RFC 1123,
// section 2.1), and the underscore that many hosts have all the same.
func checkLabels(host string, labels []string) error {
	if len(host) > maxName {
		return refuse(ReasonHost, "a host name has at most 253 characters")
	}
	for _, label := range labels {
		switch {
		case label == "":
			return refuse(ReasonHost, "a host name has no empty labels and no dot at its end")
		case len(label) > maxLabel:
			return refuse(ReasonHost, "a label of a host name has at most 63 characters")
		case label[0] == '-' || label[len(label)-1] == '-':
			return refuse(ReasonHost, "a label of a host name does not begin or end with a hyphen")
		case strings.ContainsFunc(label, isNoNameChar):
			return refuse(ReasonHost, "a host name is letters, digits, hyphens and dots; write an internationalised one in its xn-- form")
		}
	}
	return nil
}

func isNoNameChar(c rune) bool {
	return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_'
}

// isNumber says whether a host that ends in this label is read as an IPv4
// address (WHATWG URL, "ends in a number").
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

package webhook

import (
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"
)

// The limits of the headers that an endpoint adds to its deliveries.
const (
	MaxHeaders     = 20
	MaxHeaderBytes = 4 << 10 // names and values together
)

// Headers that Warden or HTTP itself sets: an endpoint can't.
var (
	reservedHeaders = []string{
		"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Expect",
		"Forwarded", "Host", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent", "Via",
	}
	reservedPrefixes = []string{"Proxy-", "Webhook-", "X-Forwarded-"}
)

// HeaderError says what is wrong with an endpoint's own headers. It never holds
// a value: values are credentials as a rule.
type HeaderError struct {
	Name    string // empty: all of them together
	Problem string
}

func (e *HeaderError) Error() string {
	if e.Name == "" {
		return "webhook: headers: " + e.Problem
	}
	return fmt.Sprintf("webhook: headers.%s: %s", e.Name, e.Problem)
}

// ValidateHeaders tests the headers that an endpoint wants on its deliveries:
// names are tokens, values printable ASCII, both by RFC 9110, section 5, and
// none is one that Warden or HTTP sets. The error is a *HeaderError.
func ValidateHeaders(headers map[string]string) error {
	if len(headers) > MaxHeaders {
		return &HeaderError{"", fmt.Sprintf("must be at most %d", MaxHeaders)}
	}
	seen, size := map[string]bool{}, 0
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		size += len(name) + len(value)
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !isToken(name):
			return &HeaderError{"", "a name must be letters, digits and !#$%&'*+-.^_`|~"}
		case seen[canonical]:
			return &HeaderError{name, "stands there twice"}
		case isReserved(canonical):
			return &HeaderError{name, "is set by the sender"}
		case !isHeaderValue(value):
			return &HeaderError{name, "must be printable ASCII without spaces around it"}
		}
		seen[canonical] = true
	}
	if size > MaxHeaderBytes {
		return &HeaderError{"", fmt.Sprintf("must have at most %d bytes together", MaxHeaderBytes)}
	}
	return nil
}

func isToken(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return name != ""
}

func isReserved(canonical string) bool {
	return slices.Contains(reservedHeaders, canonical) || slices.ContainsFunc(reservedPrefixes, func(p string) bool {
		return strings.HasPrefix(canonical, p)
	})
}

func isHeaderValue(value string) bool {
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return false
		}
	}
	return strings.TrimSpace(value) == value
}

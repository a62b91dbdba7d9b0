package httpapi

import (
	"crypto/rand"
	"encoding/base32"
	"net"
	"net/http"
	"strings"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
)

// The headers of the contract that HTTP itself does not have.
const (
	HeaderRequestID      = "X-Request-Id"
	HeaderCost           = "X-Warden-Cost"
	HeaderRevision       = "X-Warden-Revision"
	HeaderOnBehalfOf     = "X-Warden-On-Behalf-Of"
	HeaderIdempotencyKey = "Idempotency-Key"
)

const maxRequestID = 128

// RequestID is the caller's X-Request-Id when it is sane, 1 to 128 visible ASCII
// characters, and else a new one.
func RequestID(r *http.Request) string {
	if id := header(r, HeaderRequestID); sane(id) {
		return id
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	var text [4 + 26]byte
	return string(requestIDText.AppendEncode(append(text[:0], "req_"...), random[:]))
}

var requestIDText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func sane(id string) bool {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}

// SetCommonHeaders sets what every answer carries: its request id, what it cost,
// and that nobody may keep it, as it tells of rights.
func SetCommonHeaders(h http.Header, requestID string, cost table.Cost) {
	h.Set(HeaderRequestID, requestID)
	h.Set(HeaderCost, cost.String())
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// Bearer is the token of `Authorization: Bearer TOKEN` (RFC 6750, the scheme in
// any case); without one it is fault.Unauthenticated.
func Bearer(r *http.Request) (string, error) {
	scheme, token, ok := strings.Cut(header(r, "Authorization"), " ")
	token = strings.TrimLeft(token, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", fault.New(fault.Unauthenticated, "send the key as Authorization: Bearer KEY")
	}
	return token, nil
}

// Source is the address that the request came from, without the port. Headers
// that claim another one are not believed; behind the gateway its adapter puts
// the gateway's own finding into RemoteAddr.
func Source(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// onBehalfOf is the user that a caller names for the audit log. It gives no rights.
func onBehalfOf(r *http.Request) (string, error) {
	v := header(r, HeaderOnBehalfOf)
	if v == "" {
		return "", nil
	}
	id, err := rbac.ParseSubjectID(v)
	if err != nil {
		return "", fault.Wrap(fault.BadRequest, err, "%s: %s", HeaderOnBehalfOf, err)
	}
	return id.String(), nil
}

// header is a header's value, several put together as the gateway does.
func header(r *http.Request, name string) string {
	switch v := r.Header[http.CanonicalHeaderKey(name)]; len(v) {
	case 0:
		return ""
	case 1:
		return v[0]
	default:
		return strings.Join(v, ",")
	}
}

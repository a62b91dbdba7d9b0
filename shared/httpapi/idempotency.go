package httpapi

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"net/http"
	"slices"

	"github.com/wardenhq/warden/shared/fault"
)

const maxIdempotencyKey = 255

// idempotency is what a request with an Idempotency-Key is known by.
type idempotency struct {
	key     string
	digest  [sha256.Size]byte
	sealing [sha256.Size]byte
}

// Idempotency is the request's Idempotency-Key and a digest of what was asked:
// method, route, path parameters, query parameters and body. ok is false when
// there is no key, or the route does not honour one (Route.Creates). Keys are
// per caller and route; storing them is the handler's business.
func (c *Call) Idempotency() (key string, digest [sha256.Size]byte, ok bool) {
	return c.idempotency.key, c.idempotency.digest, c.idempotency.key != ""
}

// SealingKey is a key for the stored answer that shows a secret: it is derived
// from the caller's bearer and the Idempotency-Key, so that only a caller who
// has both can open it again. ok is as for Idempotency.
func (c *Call) SealingKey() (key [sha256.Size]byte, ok bool) {
	return c.idempotency.sealing, c.idempotency.key != ""
}

func readIdempotency(route *Route, r *http.Request) (string, error) {
	if !route.Creates || len(r.Header[HeaderIdempotencyKey]) == 0 {
		return "", nil
	}
	key := header(r, HeaderIdempotencyKey)
	if len(key) == 0 || len(key) > maxIdempotencyKey {
		return "", fault.InField(fault.Invalid, HeaderIdempotencyKey, "must have 1 to %d bytes", maxIdempotencyKey)
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return "", fault.InField(fault.Invalid, HeaderIdempotencyKey, "must be printable ASCII")
		}
	}
	return key, nil
}

// identify fills in what the request is known by. Every part is hashed with its
// length, so that no two requests give the same bytes.
func (c *Call) identify(key, bearer string, body []byte) error {
	if key == "" {
		return nil
	}
	h := sha256.New()
	write(h, c.route.Method, c.route.Pattern)
	for _, name := range c.route.PathParams() {
		write(h, c.params[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.query)) {
		write(h, name, c.query[name])
	}
	write(h, "") // no query parameter has an empty name
	h.Write(body)

	sealing, err := hkdf.Key(sha256.New, []byte(bearer), []byte(key), "warden: sealed answer", sha256.Size)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "")
	}
	c.idempotency = idempotency{key, [sha256.Size]byte(h.Sum(nil)), [sha256.Size]byte(sealing)}
	return nil
}

func write(h hash.Hash, parts ...string) {
	for _, p := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
}

package httpapi

import (
	"fmt"
	"net/http"

	"github.com/wardenhq/warden/shared/httpapi/wire"
)

// MaxAnswer is the largest body of an answer, in bytes. A longer one is a defect
// of the route and never sent.
const MaxAnswer = 5_000_000

// None is the request or response type of a route without one.
type None struct{}

// Reply is a handler's answer.
type Reply[T any] struct {
	Status   int    // 0: the route's usual one
	Body     T      // nothing is sent for None
	Version  uint64 // of the resource, shown as its ETag; 0: none
	Revision string // for at_least; empty: none
	Location string // path of what was created; empty: none
	Next     string // path and query of what follows a part of an answer; empty: none
	Raw      *Raw   // sent instead of Body

	stored *Answer
}

// Answer is a reply with its body encoded: what an idempotency record keeps.
type Answer struct {
	Status   int    `json:"status"`
	Version  uint64 `json:"version,omitzero"`
	Revision string `json:"revision,omitzero"`
	Location string `json:"location,omitzero"`
	Next     string `json:"next,omitzero"`
	Media    string `json:"media,omitzero"` // of Body; empty: JSON
	Body     []byte `json:"body,omitzero"`  // kept as bytes, so that it is given again as it was
}

func (a *Answer) mediaType() string {
	if a.Media == "" {
		return mediaJSON
	}
	return a.Media
}

// Encode is the answer that the reply of a route gives.
func (r Reply[T]) Encode(route *Route) (Answer, error) {
	if r.stored != nil {
		return *r.stored, nil
	}
	a := Answer{Status: r.Status, Version: r.Version, Revision: r.Revision, Location: r.Location, Next: r.Next}
	if a.Status == 0 {
		a.Status = route.Success[0]
	}
	if _, none := any(r.Body).(None); none && r.Raw == nil {
		return a, nil
	}
	body, err := r.encode(&a)
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("httpapi: %s: encode: %w", route.Name, err)
	case len(body) > MaxAnswer:
		return Answer{}, fmt.Errorf("httpapi: %s: an answer of %d bytes, at most %d", route.Name, len(body), MaxAnswer)
	}
	a.Body = body
	return a, nil
}

// encode is the body, whose media type it notes.
func (r Reply[T]) encode(a *Answer) ([]byte, error) {
	if r.Raw != nil {
		a.Media = r.Raw.MediaType
		return r.Raw.Body, nil
	}
	return wire.Encode(r.Body)
}

// Again is the reply that gives a stored answer once more, byte for byte.
func Again[T any](a Answer) Reply[T] { return Reply[T]{stored: &a} }

func (a *Answer) setHeaders(h http.Header) {
	if a.Version != 0 {
		h.Set("ETag", ETag(a.Version))
	}
	if a.Revision != "" {
		h.Set(HeaderRevision, a.Revision)
	}
	if a.Next != "" {
		h.Set("Link", "<"+a.Next+`>; rel="next"`)
	}
	if a.Location != "" {
		h.Set("Location", a.Location)
	}
}

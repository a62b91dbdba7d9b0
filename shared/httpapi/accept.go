package httpapi

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// mediaJSON is what answers are in unless a route says otherwise.
const mediaJSON = "application/json"

// Raw is the body of an answer that is not JSON, in a form that the route
// declares (Route.Produces).
type Raw struct {
	MediaType string // with its parameters
	Body      []byte
}

// Accepts is the media type to answer in: of JSON and what the route produces,
// the one that the request's Accept prefers (RFC 9110, section 12.5.1). JSON when
// it names none of them, and of equals the one that was declared first.
func (c *Call) Accepts() string {
	best, most := mediaJSON, quality(c.accept, mediaJSON)
	for _, offer := range c.route.Produces {
		if q := quality(c.accept, offer); q > most {
			best, most = offer, q
		}
	}
	return best
}

// quality is how much an Accept header wants a media type: the weight of the
// most specific range that it falls under.
func quality(accept, offer string) float64 {
	kind, _, _ := strings.Cut(offer, "/")
	specific, q := 0, 0.0
	for text := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(text)
		if err != nil {
			continue
		}
		var rank int
		switch media {
		case offer:
			rank = 3
		case kind + "/*":
			rank = 2
		case "*/*":
			rank = 1
		}
		if rank <= specific {
			continue
		}
		specific, q = rank, 1
		if weight, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(weight, 64); err != nil {
				q = 0
			}
		}
	}
	return q
}

func accepted(r *http.Request) string { return header(r, "Accept") }

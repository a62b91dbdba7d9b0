package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/wardenhq/warden/shared/fault"
)

// MaxBody is the largest body of a request, in bytes.
const MaxBody = 1 << 20

// ReadBody reads at most limit bytes. A longer body is fault.TooLarge, and the
// connection is closed after the answer rather than read to its end.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, tooLarge(limit)
	}
	if r.Body == nil { // as in requests that no server made
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(limit)
	case err != nil && r.Context().Err() != nil:
		return nil, r.Context().Err()
	case err != nil:
		return nil, fault.Wrap(fault.BadRequest, err, "the body ended early")
	}
	return body, nil
}

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "the body may have at most %d bytes", limit)
}

// readJSON reads the body of a route that has one, after a look at its type.
func readJSON(w http.ResponseWriter, r *http.Request, route *Route) ([]byte, error) {
	typed := len(r.Header["Content-Type"]) > 0
	if typed && !isJSON(header(r, "Content-Type"), r.Method) {
		return nil, notJSON()
	}
	if coding := header(r, "Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, fault.New(fault.UnsupportedMediaType, "the body must not be compressed")
	}
	body, err := ReadBody(w, r, MaxBody)
	switch {
	case err != nil:
		return nil, err
	case len(body) == 0 && route.BodyOptional:
		return []byte("{}"), nil
	case len(body) > 0 && !typed:
		return nil, notJSON()
	}
	return body, nil
}

func notJSON() error {
	return fault.New(fault.UnsupportedMediaType, "send JSON, with Content-Type: application/json")
}

// isJSON says whether a content type is JSON in UTF-8, or a merge patch (RFC
// 7396) where the method takes one.
func isJSON(contentType, method string) bool {
	if contentType == "application/json" { // nearly all; parsing costs more than the rest of the headers
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	for name, value := range params {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return media == "application/json" || media == "application/merge-patch+json" && method == http.MethodPatch
}

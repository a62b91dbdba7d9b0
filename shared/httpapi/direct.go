package httpapi

import (
	"net/http"
	"strings"

	"github.com/wardenhq/warden/shared/fault"
)

// What follows is for a handler that serves its routes without a Router, for
// speed, and still by the same conventions.

// CheckQuery holds the request's query string against what the route declares.
func CheckQuery(route *Route, r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	_, err := readQuery(route, r.URL.RawQuery)
	return err
}

// CheckBodyType is fault.UnsupportedMediaType unless the headers say that the
// body is plain JSON. An empty body needs no type.
func CheckBodyType(r *http.Request, empty bool) error {
	_, typed := r.Header["Content-Type"]
	if typed && !isJSON(header(r, "Content-Type"), r.Method) || !typed && !empty {
		return notJSON()
	}
	if coding := header(r, "Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fault.New(fault.UnsupportedMediaType, "the body must not be compressed")
	}
	return nil
}

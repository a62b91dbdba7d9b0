package httpapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi/segment"
)

// Permission is what a caller needs to use a route: a permission of keys and
// members (`admin:read`), or one of the markers below. It is never empty, so
// that no route is public by omission.
type Permission string

// The markers of routes that no permission of a key opens.
const (
	Public       Permission = "public"   // anyone, without authentication
	OperatorOnly Permission = "operator" // the operator's keys
	OwnerOnly    Permission = "owner"    // the owners of the org
)

// Route declares one operation, once: the router, the sweeps over all routes and
// the OpenAPI document are made from it.
type Route struct {
	Name       string // unique, as logs and OpenAPI's operationId have it: "roles.put"
	Summary    string // one line
	Method     string
	Pattern    string // "/v1/scopes/{scope}/roles/{role}"
	Permission Permission
	Success    []int        // statuses of success; the first is the usual one
	Query      []QueryParam // those of lists are implied by List
	Errors     []fault.Code // those of the operation itself; AllErrors adds what the edge answers

	List         bool // answers a Page; takes limit and cursor
	Versioned    bool // the resource has an ETag; If-Match and If-None-Match apply
	Creates      bool // a POST that honours Idempotency-Key
	ShowsSecret  bool // the answer holds a secret that is shown once
	BodyOptional bool // no body stands for {}

	Produces []string // media types of answers besides JSON, by the request's Accept

	Request, Response reflect.Type // nil: none. Bind derives them.
}

// ParamKind is the class of a query parameter.
type ParamKind uint8

// The kinds of query parameters.
const (
	Text   ParamKind = iota // any text that is valid UTF-8 and not empty
	Bool                    // true or false
	Enum                    // one of Values
	Limit                   // 1 to MaxLimit; implied by Route.List
	Cursor                  // of the page before; implied by Route.List
)

// QueryParam declares a query parameter. One that is not declared is refused, so
// that ?dry_run=true never writes on a route that can't do it.
type QueryParam struct {
	Name     string
	Kind     ParamKind
	Values   []string // of an Enum
	Required bool
	Doc      string
}

var listParams = []QueryParam{
	{Name: "limit", Kind: Limit, Doc: "items a page, 1 to 1000, 100 when left out"},
	{Name: "cursor", Kind: Cursor, Doc: "next_cursor of the page before"},
}

// QueryParams are all parameters that the route takes.
func (r *Route) QueryParams() []QueryParam {
	if !r.List {
		return r.Query
	}
	return slices.Concat(r.Query, listParams)
}

// PathParams are the names of the pattern's parameters, in order.
func (r *Route) PathParams() []string {
	var names []string
	for s := range strings.SplitSeq(r.Pattern, "/") {
		if name, ok := paramName(s); ok {
			names = append(names, name)
		}
	}
	return names
}

func paramName(patternSegment string) (string, bool) {
	name, opens := strings.CutPrefix(patternSegment, "{")
	name, closes := strings.CutSuffix(name, "}")
	return name, opens && closes && name != ""
}

// Writes says whether the method may change something.
func (r *Route) Writes() bool { return r.Method != http.MethodGet }

// AllErrors are all codes that the route can answer: its own, and those that
// the edge answers for a route of this kind. Sorted, without doubles.
func (r *Route) AllErrors() []fault.Code {
	all := append(slices.Clone(r.Errors), fault.Busy, fault.Internal, fault.TooManyRequests, fault.BadRequest, fault.Invalid)
	if r.Permission != Public {
		all = append(all, fault.Unauthenticated, fault.Forbidden)
	}
	if len(r.PathParams()) > 0 {
		all = append(all, fault.BadPathSegment, fault.NotFound)
	}
	if r.Request != nil {
		all = append(all, fault.BadJSON, fault.TooLarge, fault.UnsupportedMediaType)
	}
	if r.List {
		all = append(all, fault.BadCursor)
	}
	if r.Versioned && r.Writes() {
		all = append(all, fault.PreconditionFailed)
	}
	if r.Creates {
		all = append(all, fault.IdempotencyKeyReused, fault.IdempotencyInProgress)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// validate says what is wrong with a declaration.
func (r *Route) validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("route %q (%s %s): %s", r.Name, r.Method, r.Pattern, fmt.Sprintf(format, args...))
	}
	segments, ok := segment.Split(r.Pattern)
	switch {
	case r.Name == "":
		return bad("has no name")
	case !slices.Contains(methods, r.Method):
		return bad("unknown method")
	case !ok:
		return bad("the pattern is no path")
	case r.Permission == "":
		return bad("has no permission")
	case len(r.Success) == 0:
		return bad("has no status of success")
	case r.Request != nil && (r.Method == http.MethodGet || r.Method == http.MethodDelete):
		return bad("the method has no body")
	case r.Creates && r.Method != http.MethodPost:
		return bad("only a POST honours Idempotency-Key")
	case r.ShowsSecret && r.Method == http.MethodGet:
		return bad("a secret is shown once, never by GET")
	case r.List && r.Method != http.MethodGet:
		return bad("only a GET lists")
	}
	var seen []string
	for _, s := range segments {
		name, param := paramName(s)
		if !param && strings.ContainsAny(s, "{}") {
			return bad("%q is neither a literal nor a parameter", s)
		}
		if param && slices.Contains(seen, name) {
			return bad("two path parameters are named %q", name)
		}
		seen = append(seen, name)
	}
	seen = nil
	for _, q := range r.QueryParams() {
		if q.Name == "" || slices.Contains(seen, q.Name) {
			return bad("two query parameters are named %q, or one has no name", q.Name)
		}
		if (q.Kind == Enum) != (len(q.Values) > 0) {
			return bad("query parameter %q: an enum has values, nothing else does", q.Name)
		}
		seen = append(seen, q.Name)
	}
	return nil
}

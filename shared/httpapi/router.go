// Package httpapi is the HTTP edge: it turns requests into typed calls and the
// handlers' replies and faults into answers, by the conventions of the contract.
//
// A route is declared once (Route) and bound to a typed handler (Bind). The edge
// then works in this order: path and method (404, 405), ids in the path,
// authentication, permission, query and headers, body, handler. Nothing is
// written before the whole answer is known, so a panic is an answer too, and
// every answer carries its request id and what it cost. Paths are taken as they
// arrive, decoded: never cleaned, never redirected.
//
// Package segment has the form of ids in paths, package wire the JSON.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi/segment"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
)

// Config is what the edge needs from others.
type Config struct {
	// Authenticate finds out whose bearer token it is. It runs before the body is
	// read, not on public routes. Its error is usually fault.Unauthenticated.
	Authenticate func(ctx context.Context, bearer string) (Principal, error)
	// Authorize says whether the call's principal may use its route, given the
	// path parameters: nil, fault.Forbidden or fault.NotFound.
	Authorize func(ctx context.Context, c *Call) error
	// Log gets one line a request, without headers, bodies and secrets, and without
	// paths but for how one begins that leads nowhere.
	Log *slog.Logger
}

// Router is the http.Handler of a set of endpoints.
type Router struct {
	config Config
	root   node
	routes []Route
}

// NewRouter makes the handler. The error names every declaration that is
// incomplete, and every two routes that one request would match.
func NewRouter(config Config, endpoints ...Endpoint) (*Router, error) {
	r := &Router{config: config}
	var wrong []error
	var all []*endpoint
	for _, e := range endpoints {
		if err := e.Route.validate(); err != nil {
			wrong = append(wrong, err)
			continue
		}
		added := newEndpoint(e)
		for _, other := range all {
			wrong = append(wrong, clash(other, added))
		}
		all = append(all, added)
		r.root.add(added)
		r.routes = append(r.routes, e.Route)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	return r, nil
}

// Routes are the declarations, in the order they were given.
func (rt *Router) Routes() []Route { return slices.Clone(rt.routes) }

// exchange is one request on its way through the edge.
type exchange struct {
	w         http.ResponseWriter
	r         *http.Request
	requestID string
	began     time.Time
	meter     table.Meter
	endpoint  *endpoint // nil until the route is known
	principal Principal
	stack     []byte // of a panic
}

// ServeHTTP answers one request.
func (rt *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{w: w, r: r, requestID: RequestID(r), began: time.Now()}
	answer, err := rt.answer(table.WithMeter(r.Context(), &x.meter), x)
	if err != nil {
		status := WriteProblem(w, x.requestID, x.meter.Cost(), err)
		rt.log(x, status, err)
		return
	}
	answer.setHeaders(w.Header())
	SetCommonHeaders(w.Header(), x.requestID, x.meter.Cost())
	if answer.Body != nil {
		w.Header().Set("Content-Type", answer.mediaType())
		w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body) // a caller that has gone away is no failure
	rt.log(x, answer.Status, nil)
}

func (rt *Router) answer(ctx context.Context, x *exchange) (a Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares this value too
				panic(p)
			}
			x.stack = debug.Stack()
			a, err = Answer{}, fmt.Errorf("panic: %v", p)
		}
	}()
	c, err := rt.route(x)
	if err != nil {
		return Answer{}, err
	}
	bearer, err := rt.admit(ctx, x, c)
	if err != nil {
		return Answer{}, err
	}
	body, err := read(x, c, bearer)
	if err != nil {
		return Answer{}, err
	}
	return x.endpoint.serve(ctx, c, body)
}

// route finds the endpoint and decodes the ids of the path.
func (rt *Router) route(x *exchange) (*Call, error) {
	path, ok := segment.Split(x.r.URL.Path)
	places := []*node(nil)
	if ok {
		places = rt.root.places(path, nil)
	}
	if len(places) == 0 {
		return nil, fault.New(fault.NotFound, "there is nothing at this path")
	}
	method := x.r.Method
	if method == http.MethodHead { // net/http leaves the body out
		method = http.MethodGet
	}
	for _, p := range places {
		if x.endpoint = p.byMethod[method]; x.endpoint != nil {
			break
		}
	}
	if x.endpoint == nil {
		x.w.Header().Set("Allow", allowed(places))
		return nil, fault.New(fault.MethodNotAllowed, "the methods here are %s", allowed(places))
	}
	c := &Call{route: &x.endpoint.Route, params: map[string]string{}, requestID: x.requestID, source: Source(x.r), accept: accepted(x.r)}
	for name, i := range x.endpoint.params {
		id, err := segment.Decode(path[i])
		if err != nil {
			return nil, badSegment(name, path[i], err)
		}
		c.params[name] = id
	}
	return c, nil
}

// maxEchoed is the longest segment whose right form an answer names: no id is longer.
const maxEchoed = rbac.MaxLongID

// badSegment is the fault of an id in neither form. It names the form that an id
// of just these characters has.
func badSegment(param, sent string, err error) error {
	id, form := "Zoë", segment.Encode("Zoë")
	if len(sent) <= maxEchoed && utf8.ValidString(sent) {
		id, form = sent, segment.Encode(sent)
	}
	return fault.Wrap(fault.BadPathSegment, err,
		"{%s}: an id with other characters than A-Z a-z 0-9 . _ : @ - travels as ~ and the id in unpadded base64url; send %s for %q", param, form, id)
}

// admit finds out who calls and whether they may; it returns their bearer.
func (rt *Router) admit(ctx context.Context, x *exchange, c *Call) (bearer string, err error) {
	if c.route.Permission == Public {
		return "", nil
	}
	if bearer, err = Bearer(x.r); err != nil {
		return "", err
	}
	if x.principal, err = rt.config.Authenticate(ctx, bearer); err != nil {
		return "", err
	}
	c.principal = x.principal
	return bearer, rt.config.Authorize(ctx, c)
}

// read takes in what the request says beyond its path.
func read(x *exchange, c *Call, bearer string) ([]byte, error) {
	var err error
	if c.query, err = readQuery(c.route, x.r.URL.RawQuery); err != nil {
		return nil, err
	}
	if c.route.Writes() {
		if c.onBehalfOf, err = onBehalfOf(x.r); err != nil {
			return nil, err
		}
	}
	if c.route.Versioned && c.route.Writes() {
		if c.conditions, err = readConditions(x.r); err != nil {
			return nil, err
		}
	}
	key, err := readIdempotency(c.route, x.r)
	if err != nil {
		return nil, err
	}
	var body []byte
	if c.route.Request != nil {
		if body, err = readJSON(x.w, x.r, c.route); err != nil {
			return nil, err
		}
	}
	return body, c.identify(key, bearer, body)
}

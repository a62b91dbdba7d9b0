package httpapi

import (
	"errors"
	"fmt"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
)

// Principal is an authenticated caller. The edge only passes it on.
type Principal interface {
	// ID names the caller in logs. It is no secret.
	ID() string
}

// Call is one request to a route, as its handler sees it: checked, and without
// anything of HTTP that a handler could get wrong.
type Call struct {
	route       *Route
	params      map[string]string
	query       map[string]string
	principal   Principal
	requestID   string
	source      string
	accept      string
	onBehalfOf  string
	conditions  conditions
	idempotency idempotency
}

// Route is the declaration of what is called.
func (c *Call) Route() *Route { return c.route }

// Param is the id in the path under that name. It is valid UTF-8 and not empty;
// ParamID holds it to the grammar of ids. Asking for a name that the pattern
// lacks is a defect and panics.
func (c *Call) Param(name string) string {
	v, ok := c.params[name]
	if !ok {
		panic(fmt.Sprintf("httpapi: %s has no path parameter %q", c.route.Pattern, name))
	}
	return v
}

// ParamID is the path parameter as an id of the kind that parse makes, or
// fault.Invalid naming the parameter.
func ParamID[ID any](c *Call, name string, parse func(string) (ID, error)) (ID, error) {
	return parsed(name, c.Param(name), parse)
}

// QueryID is a query parameter as an id, the zero ID when it was left out, or
// fault.Invalid naming the parameter.
func QueryID[ID any](c *Call, name string, parse func(string) (ID, error)) (ID, error) {
	v, ok := c.Query(name)
	if !ok {
		var none ID
		return none, nil
	}
	return parsed(name, v, parse)
}

func parsed[ID any](name, text string, parse func(string) (ID, error)) (ID, error) {
	id, err := parse(text)
	var wrong *rbac.IDError
	if errors.As(err, &wrong) {
		return id, fault.InField(fault.Invalid, name, "%s", wrong.Reason)
	}
	return id, err
}

// Query is the query parameter's value, and whether it was given. Asking for one
// that the route does not declare is a defect and panics.
func (c *Call) Query(name string) (string, bool) {
	for _, p := range c.route.QueryParams() {
		if p.Name == name {
			v, ok := c.query[name]
			return v, ok
		}
	}
	panic(fmt.Sprintf("httpapi: %s has no query parameter %q", c.route.Pattern, name))
}

// Flag says whether a Bool parameter was given as true.
func (c *Call) Flag(name string) bool {
	v, _ := c.Query(name)
	return v == "true"
}

// Principal is the caller, nil on public routes.
func (c *Call) Principal() Principal { return c.principal }

// RequestID is the id that the answer, logs and events carry.
func (c *Call) RequestID() string { return c.requestID }

// Source is the address that the request came from.
func (c *Call) Source() string { return c.source }

// OnBehalfOf is the user whom the caller names for the audit log, or empty. It
// is never used for rights.
func (c *Call) OnBehalfOf() string { return c.onBehalfOf }

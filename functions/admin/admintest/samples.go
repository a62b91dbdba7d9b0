// Package admintest has a request for each route of the administration API, for
// tests that sweep over all of them.
package admintest

import (
	"fmt"
	"strings"

	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/httpapi/segment"
)

// Sample is a request that a route accepts. It is asked of a furnished tenant
// (see Furniture). A route without one fails the sweeps.
type Sample struct {
	Params map[string]string // beside {org} and {scope}
	Query  string
	Body   string
	Status int
	Events []string // the types of the events that it gives
	Target string   // TYPE/ID of the first one's target
	Before bool
	After  bool
	Silent bool // it writes without an event: nothing of an entity changes
}

// Furniture is what samples find in the tenant's scope: requests by their paths
// in the scope, in order.
var Furniture = []struct{ Path, Body string }{
	{"/permissions/invoice:read", `{"resource":"invoice","action":"read","effect":"allow"}`},
	{"/permissions/invoice:pay", `{"resource":"invoice","action":"pay","effect":"deny"}`},
	{"/roles/reader", `{"permissions":["invoice:read"]}`},
	{"/roles/spare", `{"permissions":[]}`},
	{"/policies/alice", `{"roles":[{"role":"reader"}]}`},
}

// Path is the sample's path for a route, in an org and scope. made has the ids
// of what stands under other names in samples.
func (s Sample) Path(r *httpapi.Route, org, scope string, made map[string]string) (string, error) {
	p := r.Pattern
	for _, name := range r.PathParams() {
		id, ok := s.Params[name]
		switch {
		case name == "org":
			id = org
		case name == "scope":
			id = scope
		case !ok:
			return "", fmt.Errorf("%s: the sample has no %s", r.Name, name)
		case made[id] != "":
			id = made[id]
		}
		p = strings.ReplaceAll(p, "{"+name+"}", segment.Encode(id))
	}
	return p, nil
}

// Samples are the requests, by the names of the routes.
var Samples = map[string]Sample{
	"orgs.create": {Body: `{"id":"fresh","name":"Fresh","owner":"o"}`, Status: 201, Events: []string{"org.created"}, Target: "org/fresh", After: true},
	"orgs.list":   {Status: 200},
	"orgs.get":    {Status: 200},
	"orgs.update": {Body: `{"name":"Renamed"}`, Status: 200, Events: []string{"org.updated"}, Target: "org/acme", Before: true, After: true},
	"orgs.delete": {Query: "cascade=true", Status: 204, Events: []string{"org.deleted"}, Target: "org/acme", Before: true},

	"scopes.create": {Body: `{"id":"acme-2","name":"Two"}`, Status: 201, Events: []string{"scope.created"}, Target: "scope/acme-2", After: true},
	"scopes.list":   {Status: 200},
	"scopes.get":    {Status: 200},
	"scopes.update": {Body: `{"description":"d"}`, Status: 200, Events: []string{"scope.updated"}, Target: "scope/acme-main", Before: true, After: true},
	"scopes.delete": {Query: "cascade=true", Status: 204, Events: []string{"scope.deleted"}, Target: "scope/acme-main", Before: true},

	"scopes.verify": {Body: `{"repair":true}`, Status: 200, Silent: true},

	"permissions.put": {
		Params: map[string]string{"permission": "invoice:read"}, Body: `{"resource":"invoice","action":"read","effect":"deny"}`,
		Status: 200, Events: []string{"permission.updated"}, Target: "permission/invoice:read", Before: true, After: true,
	},
	"permissions.get":  {Params: map[string]string{"permission": "invoice:read"}, Status: 200},
	"permissions.list": {Status: 200},
	"permissions.delete": {
		Params: map[string]string{"permission": "invoice:pay"}, Status: 204,
		Events: []string{"permission.deleted"}, Target: "permission/invoice:pay", Before: true,
	},

	"roles.put": {
		Params: map[string]string{"role": "new"}, Body: `{"permissions":["invoice:pay"],"inherits":["reader"]}`,
		Status: 201, Events: []string{"role.created"}, Target: "role/new", After: true,
	},
	"roles.get":      {Params: map[string]string{"role": "reader"}, Status: 200},
	"roles.list":     {Status: 200},
	"roles.subjects": {Params: map[string]string{"role": "reader"}, Status: 200},
	"roles.delete": {
		Params: map[string]string{"role": "spare"}, Status: 204, Events: []string{"role.deleted"}, Target: "role/spare", Before: true,
	},

	"policies.put": {
		Params: map[string]string{"subject": "bob"}, Body: `{"roles":[{"role":"reader","expires_at":"2030-01-01T00:00:00Z"}]}`,
		Status: 201, Events: []string{"policy.created"}, Target: "policy/bob", After: true,
	},
	"policies.get":  {Params: map[string]string{"subject": "alice"}, Status: 200},
	"policies.list": {Status: 200},
	"policies.delete": {
		Params: map[string]string{"subject": "alice"}, Status: 204, Events: []string{"policy.deleted"}, Target: "policy/alice", Before: true,
	},
	"policies.roles.assign": {
		Params: map[string]string{"subject": "alice"}, Body: `{"role":"spare"}`,
		Status: 201, Events: []string{"policy.updated"}, Target: "policy/alice", Before: true, After: true,
	},
	"policies.roles.revoke": {
		Params: map[string]string{"subject": "alice", "role": "reader"}, Status: 204,
		Events: []string{"policy.updated"}, Target: "policy/alice", Before: true, After: true,
	},
	"policies.batch": {
		Body: `{"policies":[{"subject":"carol","roles":[{"role":"reader"}]}]}`, Status: 200,
		Events: []string{"policy.created"}, Target: "policy/carol", After: true,
	},

	"subjects.permissions": {Params: map[string]string{"subject": "alice"}, Status: 200},

	"api_keys.create": {
		Body: `{"name":"ci","permissions":["access:check"],"scopes":["acme-main"]}`, Status: 201,
		Events: []string{"api_key.created"}, After: true,
	},
	"api_keys.list":   {Status: 200},
	"api_keys.get":    {Params: map[string]string{"key": SpareKey}, Status: 200},
	"api_keys.revoke": {Params: map[string]string{"key": SpareKey}, Status: 204, Events: []string{"api_key.revoked"}, Before: true},
	"api_keys.rotate": {
		Params: map[string]string{"key": SpareKey}, Body: `{"overlap":"1h"}`, Status: 200,
		Events: []string{"api_key.rotated"}, Before: true, After: true,
	},

	"webhooks.create": {
		Body: `{"url":"https://hooks.acme.com/in","events":["role.*"],"headers":{"X-Team":"iam"},"rate_limit":5}`, Status: 201,
		Events: []string{"webhook.created"}, After: true,
	},
	"webhooks.list": {Status: 200},
	"webhooks.get":  {Params: hookParam, Status: 200},
	"webhooks.update": {
		Params: hookParam, Body: `{"url":"https://other.acme.com/in","headers":{"X-Team":"sec"}}`, Status: 200,
		Events: []string{"webhook.updated"}, Before: true, After: true,
	},
	"webhooks.delete": {Params: hookParam, Status: 204, Events: []string{"webhook.deleted"}, Before: true},
	"webhooks.rotate_secret": {
		Params: hookParam, Body: `{"overlap":"1h"}`, Status: 200, Events: []string{"webhook.secret_rotated"}, Before: true, After: true,
	},
	"webhooks.enable": {
		Params: map[string]string{"webhook": DisabledHook}, Status: 200, Events: []string{"webhook.enabled"}, Before: true, After: true,
	},
	"webhooks.disable": {Params: hookParam, Status: 200, Events: []string{"webhook.disabled"}, Before: true, After: true},
	"webhooks.test":    {Params: hookParam, Status: 202, Events: []string{"webhook.test"}, After: true},
	"webhooks.recover": {Params: hookParam, Body: `{"since":"2026-01-01T00:00:00Z"}`, Status: 202, Silent: true},
	"deliveries.list":  {Params: hookParam, Query: "status=failed", Status: 200},
	"deliveries.get":   {Params: deliveryParam, Status: 200},
	"deliveries.replay": {
		Params: deliveryParam, Status: 202, Silent: true,
	},
}

// These stand in samples for ids of what the fixture makes: a key, an enabled and
// a disabled webhook, and a delivery to the first that failed.
const (
	SpareKey       = "spare-key"
	SpareHook      = "spare-hook"
	DisabledHook   = "disabled-hook"
	FailedDelivery = "failed-delivery"
)

var (
	hookParam     = map[string]string{"webhook": SpareHook}
	deliveryParam = map[string]string{"webhook": SpareHook, "delivery": FailedDelivery}
)

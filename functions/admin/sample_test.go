package admin_test

import (
	"strings"
	"testing"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/httpapi/segment"
)

// sample is a request that a route accepts, for the sweeps over all routes. It
// is asked of a furnished tenant. A route without one fails them.
type sample struct {
	params map[string]string // beside {org} and {scope}
	query  string
	body   string
	status int
	events []string // the types of the events that it gives
	target string   // TYPE/ID of the first one's target
	before bool
	after  bool
	silent bool // it writes without an event: nothing of an entity changes
}

var samples = map[string]sample{
	"orgs.create": {body: `{"id":"fresh","name":"Fresh","owner":"o"}`, status: 201, events: []string{"org.created"}, target: "org/fresh", after: true},
	"orgs.list":   {status: 200},
	"orgs.get":    {status: 200},
	"orgs.update": {body: `{"name":"Renamed"}`, status: 200, events: []string{"org.updated"}, target: "org/acme", before: true, after: true},
	"orgs.delete": {query: "cascade=true", status: 204, events: []string{"org.deleted"}, target: "org/acme", before: true},

	"scopes.create": {body: `{"id":"acme-2","name":"Two"}`, status: 201, events: []string{"scope.created"}, target: "scope/acme-2", after: true},
	"scopes.list":   {status: 200},
	"scopes.get":    {status: 200},
	"scopes.update": {body: `{"description":"d"}`, status: 200, events: []string{"scope.updated"}, target: "scope/acme-main", before: true, after: true},
	"scopes.delete": {query: "cascade=true", status: 204, events: []string{"scope.deleted"}, target: "scope/acme-main", before: true},

	"scopes.verify": {body: `{"repair":true}`, status: 200, silent: true},

	"permissions.put": {
		params: map[string]string{"permission": "invoice:read"}, body: `{"resource":"invoice","action":"read","effect":"deny"}`,
		status: 200, events: []string{"permission.updated"}, target: "permission/invoice:read", before: true, after: true,
	},
	"permissions.get":  {params: map[string]string{"permission": "invoice:read"}, status: 200},
	"permissions.list": {status: 200},
	"permissions.delete": {
		params: map[string]string{"permission": "invoice:pay"}, status: 204,
		events: []string{"permission.deleted"}, target: "permission/invoice:pay", before: true,
	},

	"roles.put": {
		params: map[string]string{"role": "new"}, body: `{"permissions":["invoice:pay"],"inherits":["reader"]}`,
		status: 201, events: []string{"role.created"}, target: "role/new", after: true,
	},
	"roles.get":      {params: map[string]string{"role": "reader"}, status: 200},
	"roles.list":     {status: 200},
	"roles.subjects": {params: map[string]string{"role": "reader"}, status: 200},
	"roles.delete": {
		params: map[string]string{"role": "spare"}, status: 204, events: []string{"role.deleted"}, target: "role/spare", before: true,
	},

	"policies.put": {
		params: map[string]string{"subject": "bob"}, body: `{"roles":[{"role":"reader","expires_at":"2030-01-01T00:00:00Z"}]}`,
		status: 201, events: []string{"policy.created"}, target: "policy/bob", after: true,
	},
	"policies.get":  {params: map[string]string{"subject": "alice"}, status: 200},
	"policies.list": {status: 200},
	"policies.delete": {
		params: map[string]string{"subject": "alice"}, status: 204, events: []string{"policy.deleted"}, target: "policy/alice", before: true,
	},
	"policies.roles.assign": {
		params: map[string]string{"subject": "alice"}, body: `{"role":"spare"}`,
		status: 201, events: []string{"policy.updated"}, target: "policy/alice", before: true, after: true,
	},
	"policies.roles.revoke": {
		params: map[string]string{"subject": "alice", "role": "reader"}, status: 204,
		events: []string{"policy.updated"}, target: "policy/alice", before: true, after: true,
	},
	"policies.batch": {
		body: `{"policies":[{"subject":"carol","roles":[{"role":"reader"}]}]}`, status: 200,
		events: []string{"policy.created"}, target: "policy/carol", after: true,
	},

	"subjects.permissions": {params: map[string]string{"subject": "alice"}, status: 200},

	"api_keys.create": {
		body: `{"name":"ci","permissions":["access:check"],"scopes":["acme-main"]}`, status: 201,
		events: []string{"api_key.created"}, after: true,
	},
	"api_keys.list":   {status: 200},
	"api_keys.get":    {params: map[string]string{"key": spareKey}, status: 200},
	"api_keys.revoke": {params: map[string]string{"key": spareKey}, status: 204, events: []string{"api_key.revoked"}, before: true},
	"api_keys.rotate": {
		params: map[string]string{"key": spareKey}, body: `{"overlap":"1h"}`, status: 200,
		events: []string{"api_key.rotated"}, before: true, after: true,
	},

	"webhooks.create": {
		body: `{"url":"https://hooks.acme.com/in","events":["role.*"],"headers":{"X-Team":"iam"},"rate_limit":5}`, status: 201,
		events: []string{"webhook.created"}, after: true,
	},
	"webhooks.list": {status: 200},
	"webhooks.get":  {params: hookParam, status: 200},
	"webhooks.update": {
		params: hookParam, body: `{"url":"https://other.acme.com/in","headers":{"X-Team":"sec"}}`, status: 200,
		events: []string{"webhook.updated"}, before: true, after: true,
	},
	"webhooks.delete": {params: hookParam, status: 204, events: []string{"webhook.deleted"}, before: true},
	"webhooks.rotate_secret": {
		params: hookParam, body: `{"overlap":"1h"}`, status: 200, events: []string{"webhook.secret_rotated"}, before: true, after: true,
	},
	"webhooks.enable": {
		params: map[string]string{"webhook": disabledHook}, status: 200, events: []string{"webhook.enabled"}, before: true, after: true,
	},
	"webhooks.disable": {params: hookParam, status: 200, events: []string{"webhook.disabled"}, before: true, after: true},
	"webhooks.test":    {params: hookParam, status: 202, events: []string{"webhook.test"}, after: true},
	"webhooks.recover": {params: hookParam, body: `{"since":"2026-01-01T00:00:00Z"}`, status: 202, silent: true},
	"deliveries.list":  {params: hookParam, query: "status=failed", status: 200},
	"deliveries.get":   {params: deliveryParam, status: 200},
	"deliveries.replay": {
		params: deliveryParam, status: 202, silent: true,
	},
}

// These stand in samples for ids of what the fixture makes: a key, an enabled and
// a disabled webhook, and a delivery to the first that failed.
const (
	spareKey       = "spare-key"
	spareHook      = "spare-hook"
	disabledHook   = "disabled-hook"
	failedDelivery = "failed-delivery"
)

var (
	hookParam     = map[string]string{"webhook": spareHook}
	deliveryParam = map[string]string{"webhook": spareHook, "delivery": failedDelivery}
)

// fixture is a furnished tenant that every sample can be asked of.
type fixture struct {
	*tenant
	made map[string]string // ids by what stands for them
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{tenant: newWorld(t).provision("acme").furnish()}
	key, _ := f.newKey(`["access:check"]`, "")
	hook, disabled := f.newHook("https://hooks.acme.com/spare", "*"), f.newHook("https://hooks.acme.com/off", "*")
	f.in("POST", "", "webhooks", disabled, "disable").is(200)
	f.made = map[string]string{
		spareKey: key, spareHook: hook, disabledHook: disabled,
		failedDelivery: f.newDelivery(hook, entity.DeliveryFailed, "evt_failed"),
	}
	return f
}

// sampleOf is a route's sample.
func sampleOf(t *testing.T, r *httpapi.Route) sample {
	t.Helper()
	s, ok := samples[r.Name]
	if !ok {
		t.Fatalf("%s has no sample", r.Name)
	}
	return s
}

// request is the sample's request, of an org and scope, without a key.
func (f *fixture) request(r *httpapi.Route, s sample, org, scope string) request {
	p := r.Pattern
	for _, name := range r.PathParams() {
		id, ok := s.params[name]
		switch {
		case name == "org":
			id = org
		case name == "scope":
			id = scope
		case !ok:
			f.Fatalf("%s: the sample has no %s", r.Name, name)
		case f.made[id] != "":
			id = f.made[id]
		}
		p = strings.ReplaceAll(p, "{"+name+"}", segment.Encode(id))
	}
	return request{method: r.Method, path: p, query: s.query, body: s.body}
}

// right is a key that may use the route.
func (f *fixture) right(r *httpapi.Route) string {
	if r.Permission == httpapi.OperatorOnly {
		return operator
	}
	return f.key
}

// routes runs a test for each route, each on a fixture of its own.
func routes(t *testing.T, which func(*httpapi.Route) bool, test func(f *fixture, r *httpapi.Route, s sample)) {
	t.Helper()
	for _, r := range newWorld(t).router.Routes() {
		if !which(&r) {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			test(newFixture(t), &r, sampleOf(t, &r))
		})
	}
}

func every(*httpapi.Route) bool { return true }

package admin_test

import (
	"testing"

	"github.com/wardenhq/warden/functions/admin/admintest"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/httpapi"
)

type sample = admintest.Sample

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
		admintest.SpareKey: key, admintest.SpareHook: hook, admintest.DisabledHook: disabled,
		admintest.FailedDelivery: f.newDelivery(hook, entity.DeliveryFailed, "evt_failed"),
	}
	return f
}

// sampleOf is a route's sample.
func sampleOf(t *testing.T, r *httpapi.Route) sample {
	t.Helper()
	s, ok := admintest.Samples[r.Name]
	if !ok {
		t.Fatalf("%s has no sample", r.Name)
	}
	return s
}

// request is the sample's request, of an org and scope, without a key.
func (f *fixture) request(r *httpapi.Route, s sample, org, scope string) request {
	p, err := s.Path(r, org, scope, f.made)
	if err != nil {
		f.Fatal(err)
	}
	return request{method: r.Method, path: p, query: s.Query, body: s.Body}
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

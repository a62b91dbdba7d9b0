package audit_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// every runs a test for each route, each on a world of its own.
func every(t *testing.T, test func(w *world, acme *writetest.Tenant, r *httpapi.Route, path func(org, scope string) string)) {
	t.Helper()
	for _, e := range newWorld(t).audit.Endpoints() {
		t.Run(e.Route.Name, func(t *testing.T) {
			w := newWorld(t)
			acme := w.Provision("acme", nil)
			w.busy(acme, 3)
			w.drain()
			test(w, acme, &e.Route, func(org, scope string) string {
				p := strings.NewReplacer("{org}", org, "{scope}", scope).Replace(e.Route.Pattern)
				if strings.HasSuffix(p, "/proof") {
					p += "?from_seq=1&to_seq=2"
				}
				return p
			})
		})
	}
}

func TestEveryRouteAnswers(t *testing.T) {
	every(t, func(w *world, acme *writetest.Tenant, r *httpapi.Route, path func(org, scope string) string) {
		for _, key := range []string{acme.Text, operator} {
			a := w.get(key, path("acme", "acme")).is(http.StatusOK)
			if !strings.Contains(a.body, `"acme"`) || r.Writes() {
				w.Errorf("%s", a.body)
			}
		}
		if w.get("", path("acme", "acme")).status != http.StatusUnauthorized {
			w.Error("nobody may read the log")
		}
	})
}

func TestEveryRouteNeedsItsRight(t *testing.T) {
	every(t, func(w *world, acme *writetest.Tenant, _ *httpapi.Route, path func(org, scope string) string) {
		acme.Edit(func(k *entity.APIKey) {
			k.Permissions = []entity.Right{entity.RightAdminRead, entity.RightAdminWrite, entity.RightCheck, entity.RightWebhooks, entity.RightSCIMManage}
		})
		w.get(acme.Text, path("acme", "acme")).is(http.StatusForbidden)
		acme.Edit(func(k *entity.APIKey) { k.Permissions = []entity.Right{entity.RightAuditRead} })
		w.get(acme.Text, path("acme", "acme")).is(http.StatusOK)
	})
}

// What is another org's, or beyond the scopes of a key, answers as what does not
// exist: byte for byte, in every form.
func TestIsolation(t *testing.T) {
	every(t, func(w *world, acme *writetest.Tenant, r *httpapi.Route, path func(org, scope string) string) {
		other := w.Provision("other", nil)
		w.busy(other, 2)
		w.drain()
		same := func(key, foreign string) {
			w.Helper()
			for _, form := range []string{"application/json", "application/x-ndjson", "text/csv"} {
				got := w.get(key, foreign, "Accept", form)
				want := w.get(key, path("missing", "missing"), "Accept", form)
				if got.status != want.status || got.body != want.body || got.status != http.StatusNotFound {
					w.Errorf("%d %s\nmissing: %d %s", got.status, got.body, want.status, want.body)
				}
				for h := range want.header {
					if got.header.Get(h) != want.header.Get(h) && h != "X-Warden-Cost" {
						w.Errorf("%s: %q, of a missing one %q", h, got.header.Get(h), want.header.Get(h))
					}
				}
			}
		}
		same(other.Text, path("acme", "acme"))
		acme.NewScope("second")
		acme.Edit(func(k *entity.APIKey) { k.Scopes = []rbac.ScopeID{rbac.Must(rbac.ParseScopeID("second"))} })
		if strings.Contains(r.Pattern, "{scope}") {
			same(acme.Text, path("acme", "acme"))
		} else {
			w.get(acme.Text, path("acme", "acme")).is(http.StatusForbidden)
		}
	})
}

// The log of a deleted scope is in its org's.
func TestADeletedScopeIsInItsOrgsLog(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 2)
	acme.DeleteScope()
	w.drain()
	w.get(acme.Text, "/v1/scopes/acme/audit").is(http.StatusNotFound)
	if got := w.all(acme.Text, "/v1/orgs/acme/audit"); len(got) != 4 {
		t.Errorf("%d events", len(got))
	}
}

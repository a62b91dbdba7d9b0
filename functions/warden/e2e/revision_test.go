package e2e

import (
	"testing"

	"github.com/wardenhq/warden/shared/egress"
)

// Whatever a write answers as its revision can be demanded of a check: one of
// the org itself in every scope of the org, one in a scope in that scope.
func TestEveryWritesRevisionCanBeDemanded(t *testing.T) {
	target, err := egress.ParseTarget(t.Context(), nil, "127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := start(t, t.TempDir(), target)
	acme, other := c.provision("acme"), c.provision("other")
	acme.do("POST", "/v1/orgs/acme/scopes", object{"id": "second", "name": "Second"}).want(201)
	made := acme.do("POST", "/v1/orgs/acme/api-keys", object{"name": "k", "permissions": []string{"access:check"}}).want(201)
	var key struct {
		ID string `json:"id"`
	}
	made.into(&key)
	ask := func(by *client, scope string, r reply) reply {
		t.Helper()
		return by.do("POST", "/v1/access/check", question{
			Scope: scope, Subject: "owner", Resource: "x", Action: "y", AtLeast: r.header.Get("X-Warden-Revision"),
		})
	}
	for name, r := range map[string]reply{
		"a new key":     made,
		"a rotated key": acme.do("POST", "/v1/orgs/acme/api-keys/"+key.ID+"/rotate", nil).want(200),
		"the org":       acme.do("PATCH", "/v1/orgs/acme", object{"name": "Acme Ltd"}).want(200),
		"a revoked key": acme.do("DELETE", "/v1/orgs/acme/api-keys/"+key.ID, nil).want(204),
	} {
		for _, scope := range []string{"acme", "second"} {
			for _, by := range []*client{acme, c} {
				if got := ask(by, scope, r).want(200).header.Get("X-Warden-Cost"); got == "ops=0; rru=0; wru=0" {
					t.Errorf("%s, in %s: an answer from what was cached", name, scope)
				}
			}
		}
		if got := ask(other, "other", r).want(422); got.code() != "invalid-revision" {
			t.Errorf("%s, for a key of another org: %s", name, got.body)
		}
	}
	hook := acme.do("POST", "/v1/scopes/acme/webhooks", object{"url": "http://127.0.0.1:9/in", "events": []string{"*"}}).want(201)
	ask(acme, "acme", hook).want(200)
	if got := ask(acme, "second", hook).want(422); got.code() != "invalid-revision" {
		t.Errorf("a webhook, in another scope: %s", got.body)
	}
}

package e2e

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/wardenhq/warden/functions/admin"
	"github.com/wardenhq/warden/functions/admin/admintest"
	"github.com/wardenhq/warden/functions/topology"
	"github.com/wardenhq/warden/functions/warden/serve"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/httpapi"
)

// The sweep below is over the routes of one function; checks change nothing.
func TestFunctionsThatChangeSomethingAreSwept(t *testing.T) {
	for _, f := range topology.Functions() {
		if len(f.Routes) > 0 && f.Name != "admin" && f.Name != "check" {
			t.Errorf("nobody asks the routes of %s for their events", f.Name)
		}
	}
}

// Every mutation gives the events that the contract says, and exactly one
// delivery of each to every endpoint that wants it: the id is the same in the
// audit log, in the header and in the log of deliveries.
func TestEveryMutationIsAuditedAndDelivered(t *testing.T) {
	router, err := admin.New(admin.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range router.Routes() {
		if !r.Writes() {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			s, ok := admintest.Samples[r.Name]
			if !ok {
				t.Fatal("the route has no sample")
			}
			newPipeline(t).sweep(&r, s)
		})
	}
}

// The org and scopes that samples are asked of.
const (
	org, scope, otherScope = "acme", "acme-main", "acme-second"
)

// pipeline is a server with a furnished tenant, all of whose endpoints lead to
// one receiver.
type pipeline struct {
	*testing.T
	*client
	receiver *receiver
	made     map[string]string   // ids by what stands for them in samples
	secrets  map[string][]string // of endpoints, newest first
}

// furnishing is how many events newPipeline makes.
const furnishing = 15

func newPipeline(t *testing.T) *pipeline {
	t.Helper()
	r := newReceiver(t, nil)
	target, err := egress.ParseTarget(t.Context(), nil, r.target())
	if err != nil {
		t.Fatal(err)
	}
	c, _ := start(t, serve.Memory, target)
	p := &pipeline{T: t, client: c, receiver: r, secrets: map[string][]string{}}
	c.do("POST", "/v1/orgs", object{"id": org, "name": "Acme", "owner": "owner", "scope": object{"id": scope, "name": "Main"}}).want(201)
	c.do("POST", "/v1/orgs/"+org+"/scopes", object{"id": otherScope, "name": "Second"}).want(201)
	for _, f := range admintest.Furniture {
		c.do("PUT", "/v1/scopes/"+scope+f.Path, f.Body).want(201)
	}
	var key struct {
		ID string `json:"id"`
	}
	c.do("POST", "/v1/orgs/"+org+"/api-keys", object{"name": "spare", "permissions": []string{"access:check"}}).want(201).into(&key)
	spare, off := p.register(scope, "/spare", "*"), p.register(scope, "/off", "*")
	p.register(scope, "/all", "*")
	p.register(scope, "/some", "role.*", "policy.created")
	p.register(otherScope, "/elsewhere", "*")
	c.do("POST", off.path()+"/disable", nil).want(200)
	c.do("POST", spare.path()+"/test", nil).want(202)
	p.made = map[string]string{admintest.SpareKey: key.ID, admintest.SpareHook: spare.ID, admintest.DisabledHook: off.ID}
	await(t, patience, func() error {
		for _, d := range all[delivered](c, spare.path()+"/deliveries") {
			if d.Type == "webhook.test" && d.Status == "succeeded" {
				p.made[admintest.FailedDelivery] = d.ID // any that is over can be replayed
				return nil
			}
		}
		return fmt.Errorf("the test of %s does not come", spare.URL)
	})
	return p
}

func (p *pipeline) register(scope, path string, events ...string) hooked {
	p.Helper()
	h := p.hook(org, scope, p.receiver.URL+path, events...)
	p.secrets[h.ID] = []string{h.Secret}
	return h
}

// hooks are the endpoints of both scopes; those of a deleted one are not shown.
func (p *pipeline) hooks() (found []hooked) {
	p.Helper()
	for _, s := range []string{scope, otherScope} {
		if p.do("GET", "/v1/scopes/"+s, nil).status != http.StatusOK {
			continue
		}
		for _, h := range all[hooked](p.client, "/v1/scopes/"+s+"/webhooks") {
			h.org, h.scope = org, s
			found = append(found, h)
		}
	}
	return found
}

// ask sends the route's sample. Hosts of samples are the receiver.
func (p *pipeline) ask(r *httpapi.Route, s admintest.Sample) reply {
	p.Helper()
	path, err := s.Path(r, org, scope, p.made)
	if err != nil {
		p.Fatal(err)
	}
	if s.Query != "" {
		path += "?" + s.Query
	}
	var body any
	if s.Body != "" {
		hosts := strings.NewReplacer("https://hooks.acme.com", p.receiver.URL, "https://other.acme.com", p.receiver.URL)
		body = hosts.Replace(s.Body)
	}
	return p.do(r.Method, path, body).want(s.Status)
}

// sweep asks the sample, and holds its events and their deliveries to the contract.
func (p *pipeline) sweep(r *httpapi.Route, s admintest.Sample) {
	p.Helper()
	orgs := []string{org}
	p.settle(orgs, p.hooks(), furnishing)
	n := len(p.receiver.all())
	told := p.hooks()
	answer := p.ask(r, s)
	switch r.Name {
	case "orgs.create":
		orgs = append(orgs, "fresh")
	case "webhooks.rotate_secret":
		var h hooked
		answer.into(&h)
		p.secrets[h.ID] = append([]string{h.Secret}, p.secrets[h.ID]...)
	}
	deletion := r.Name == "scopes.delete" || r.Name == "orgs.delete"
	if !deletion { // of which the endpoints that were there are told
		told = p.hooks()
	}
	p.settle(orgs, told, furnishing+len(s.Events))
	events := p.events(orgs, answer.header.Get("X-Request-Id"))
	if len(events) != len(s.Events) {
		p.Fatalf("events %+v, want %v", events, s.Events)
	}
	for i, e := range events {
		p.holdsEvent(e, s, s.Events[i])
	}
	if !deletion {
		// What comes after is there; so all of what came before is, and no more of it.
		p.do("PATCH", "/v1/orgs/"+org, object{"name": "The last change"}).want(200)
		p.settle(orgs, told, furnishing+len(s.Events)+1)
	}
	p.holdsRequests(p.receiver.all()[n:], events, told, r.Name == "deliveries.replay")
}

// holdsEvent holds an event to the contract and to what the sample says.
func (p *pipeline) holdsEvent(e audited, s admintest.Sample, kind string) {
	p.Helper()
	if e.ID == "" || e.Type != kind || e.Seq < 1 || e.Actor.Type != "operator" || e.Actor.ID == "" || e.Target.ID == "" || e.Time.IsZero() {
		p.Errorf("event %+v, want a %s", e, kind)
	}
	if s.Target != "" && e.target() != s.Target {
		p.Errorf("target %s, want %s", e.target(), s.Target)
	}
	if (string(e.Before) != "null") != s.Before || (string(e.After) != "null") != s.After {
		p.Errorf("before %s, after %s", e.Before, e.After)
	}
}

// holdsRequests holds what came to the receiver: each event once to each enabled
// endpoint that takes it, and nothing else but the last change, and what was
// asked for again.
func (p *pipeline) holdsRequests(got []received, events []audited, told []hooked, replayed bool) {
	p.Helper()
	want := map[string]int{} // by path and id
	for _, h := range told {
		for _, e := range events {
			if h.takes(e) && h.Status == "enabled" {
				want[h.at()+" "+e.ID] = 1
			}
		}
	}
	again := 0
	for _, r := range got {
		if strings.Contains(string(r.body), "The last change") {
			continue
		}
		at := r.path + " " + r.id()
		if want[at]--; want[at] < 0 {
			again++
		}
		for _, h := range told {
			if h.at() != r.path {
				continue
			}
			if err := r.check(p.secrets[h.ID]...); err != nil {
				p.Errorf("%s: %v", r.path, err)
			}
		}
		if got := r.header.Get("X-Team"); r.path == "/other/in" && got != "sec" {
			p.Errorf("header %q", got)
		}
	}
	if want := map[bool]int{true: 1}[replayed]; again != want {
		p.Errorf("%d requests that nothing asked for, want %d", again, want)
	}
	for at, missing := range want {
		if missing > 0 {
			p.Errorf("%s did not come", at)
		}
	}
}

// events are what the audit logs of orgs have, of one request when it is given.
func (p *pipeline) events(orgs []string, request string) (found []audited) {
	p.Helper()
	for _, o := range orgs {
		for _, e := range all[audited](p.client, "/v1/orgs/"+o+"/audit") {
			if request == "" || e.RequestID == request {
				found = append(found, e)
			}
		}
	}
	return found
}

// settle waits until the orgs' audit logs have n events, and the endpoints' logs
// exactly what of them each takes, with nothing pending.
func (p *pipeline) settle(orgs []string, hooks []hooked, n int) {
	p.Helper()
	await(p.T, patience, func() error {
		events := p.events(orgs, "")
		if len(events) != n {
			return fmt.Errorf("%d events, want %d", len(events), n)
		}
		for _, h := range hooks {
			if err := p.unsettled(h, events); err != nil {
				return fmt.Errorf("%s: %w", h.URL, err)
			}
		}
		return nil
	})
}

// unsettled is what is missing of an endpoint's deliveries. The logs of a deleted
// scope's are not shown: what came is.
func (p *pipeline) unsettled(h hooked, events []audited) error {
	p.Helper()
	var want, got []string
	for _, e := range events {
		if h.takes(e) {
			want = append(want, e.ID)
		}
	}
	if p.do("GET", "/v1/scopes/"+h.scope, nil).status != http.StatusOK {
		if h.Status != "enabled" {
			return nil
		}
		for _, r := range p.receiver.at(h.at()) {
			got = append(got, r.id())
		}
	} else {
		for _, d := range all[delivered](p.client, h.path()+"/deliveries") {
			if d.Status == "pending" {
				return fmt.Errorf("%s is pending", d.Type)
			}
			got = append(got, d.EventID)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("deliveries of %v, want %v", got, want)
	}
	return nil
}

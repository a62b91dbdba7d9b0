package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/webhook"
)

// newHook registers a webhook and returns its id.
func (t *tenant) newHook(url, events string) string {
	t.Helper()
	return t.in("POST", fmt.Sprintf(`{"url":%q,"events":[%q]}`, url, events), "webhooks").is(201).text("id")
}

func (t *tenant) ids() (rbac.OrgID, rbac.ScopeID) {
	return rbac.Must(rbac.ParseOrgID(t.org)), rbac.Must(rbac.ParseScopeID(t.scope))
}

// stored is a webhook as it is stored.
func (t *tenant) storedHook(id string) entity.Webhook {
	t.Helper()
	o, s := t.ids()
	e, it, err := stored.Get(t.Context(), t.store, keys.Webhook(o, s, rbac.Must(rbac.ParseWebhookID(id))), table.Strong)
	if err != nil || it == nil {
		t.Fatalf("%s: %v, %v", id, it, err)
	}
	return e
}

// newDelivery puts a delivery and returns its id. Each is of an event a minute
// older than the last.
func (t *tenant) newDelivery(hook string, status entity.DeliveryStatus, event string) string {
	t.Helper()
	o, s := t.ids()
	d := entity.Delivery{
		Org: o, Scope: s, Webhook: rbac.Must(rbac.ParseWebhookID(hook)), EventID: event,
		EventTime: t.clock.Now().Add(-time.Duration(len(t.changes())) * time.Minute), Type: "role.created", Status: status,
	}
	if status == entity.DeliveryFailed || status == entity.DeliverySucceeded {
		d = delivery.Tried(d, entity.Attempt{Time: d.EventTime, URL: "https://hooks.acme.com/spare", StatusCode: 500, DurationMS: 7, Error: "error_status", Response: "no"})
	}
	it, err := delivery.New(d, []byte(`{"a":1}`), t.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := t.store.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Put(it, table.Absent())}}); err != nil {
		t.Fatal(err)
	}
	return delivery.IDOf(d).String()
}

func TestWebhooks(t *testing.T) {
	tn := newWorld(t).provision("acme")
	a := tn.in("POST", `{"url":"https://hooks.acme.com/in?k=v","events":["role.*","policy.created"],"description":"d","headers":{"x-team":"iam","Authorization":"Basic abc"},"rate_limit":5}`, "webhooks").is(201)
	id, secret := a.text("id"), a.text("secret")
	a.has(map[string]string{
		"url": `"https://hooks.acme.com/in?k=v"`, "events": `["role.*","policy.created"]`, "description": `"d"`,
		"header_names": `["Authorization","X-Team"]`, "rate_limit": "5", "status": `"enabled"`, "disabled_reason": "", "version": "1",
	})
	if _, err := webhook.ParseSecret(secret); err != nil || !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("secret %q: %v", secret, err)
	}
	if got := a.header.Get("Location"); got != "/v1/scopes/acme-main/webhooks/"+id {
		t.Errorf("Location %s", got)
	}
	for name, shown := range map[string]*answer{"get": tn.in("GET", "", "webhooks", id).is(200), "list": tn.in("GET", "", "webhooks").is(200)} {
		for _, hidden := range []string{secret, "abc", "iam", "whsec", `"secret"`, `"headers"`} {
			if strings.Contains(string(shown.body), hidden) {
				t.Errorf("%s shows %s: %s", name, hidden, shown.body)
			}
		}
	}
	hook := tn.storedHook(id)
	if raw, _ := json.Marshal(hook); strings.Contains(string(raw), "whsec") || strings.Contains(string(raw), "Basic abc") {
		t.Errorf("stored in clear: %s", raw)
	}
	tn.in("PATCH", `{"events":["*"],"description":null,"rate_limit":null,"headers":{"x-team":null,"X-New":"1"}}`, "webhooks", id).is(200).
		has(map[string]string{"events": `["*"]`, "description": "", "rate_limit": "", "header_names": `["Authorization","X-New"]`, "version": "2"})
	if got, err := tn.vault.OpenHeaders(t.Context(), tn.storedHook(id)); err != nil || len(got) != 2 || got["Authorization"] != "Basic abc" || got["X-New"] != "1" {
		t.Errorf("headers %v, %v", got, err)
	}
	tn.in("PATCH", `{"headers":null}`, "webhooks", id).is(200).has(map[string]string{"header_names": "", "version": "3"})
	tn.in("PATCH", `{"headers":{}}`, "webhooks", id).is(200).has(map[string]string{"version": "3"})
	tn.in("DELETE", "", "webhooks", id).is(204)
	for _, more := range [][]string{{}, {"deliveries"}} {
		tn.in("GET", "", append([]string{"webhooks", id}, more...)...).problem(404, "not-found")
	}
	for _, verb := range []string{"enable", "disable", "test", "rotate-secret"} {
		tn.in("POST", "", "webhooks", id, verb).problem(404, "not-found")
	}
	tn.in("POST", `{"since":"2026-01-01T00:00:00Z"}`, "webhooks", id, "recover").problem(404, "not-found")
}

func TestWebhookRefusals(t *testing.T) {
	tn := newWorld(t).provision("acme")
	good := tn.newHook("https://hooks.acme.com/x", "*")
	refused := func(body, code string, fields ...string) {
		t.Helper()
		n := len(tn.changes())
		tn.in("POST", body, "webhooks").problem(422, code, fields...)
		tn.in("PATCH", body, "webhooks", good).problem(422, code, fields...)
		if got := len(tn.changes()); got != n {
			t.Errorf("%s: %d changes", body, got-n)
		}
	}
	for _, url := range []string{
		"http://hooks.acme.com/x", "https://10.0.0.1/x", "https://inside.acme.com/", "https://localhost/", "https://user:pw@hooks.acme.com/",
		"https://[::1]/", "https://2130706433/", "ftp://hooks.acme.com", "", "https://hooks.acme.com/#f", "https://169.254.169.254/latest",
	} {
		refused(fmt.Sprintf(`{"url":%q,"events":["*"]}`, url), "webhook-target-refused", "url")
	}
	url := `"url":"https://hooks.acme.com/x",`
	refused(`{`+url+`"events":[]}`, "invalid", "events")
	refused(`{`+url+`"events":["role.created","nothing.*"]}`, "invalid", "events[1]")
	refused(`{`+url+`"events":["rol*"]}`, "invalid", "events[0]")
	refused(`{`+url+`"events":["*"],"headers":{"webhook-id":"x"}}`, "invalid", "headers.webhook-id")
	refused(`{`+url+`"events":["*"],"headers":{"Host":"x"}}`, "invalid", "headers.Host")
	refused(`{`+url+`"events":["*"],"headers":{"X-A":"a\nb"}}`, "invalid", "headers.X-A")
	refused(`{`+url+`"events":["*"],"headers":{"X-A":"`+strings.Repeat("x", 5000)+`"}}`, "invalid", "headers")
	refused(`{`+url+`"events":["*"],"rate_limit":0}`, "invalid", "rate_limit")
	refused(`{`+url+`"events":["*"],"rate_limit":1001}`, "invalid", "rate_limit")
	refused(`{`+url+`"events":["*"],"description":"`+strings.Repeat("x", 1025)+`"}`, "limit-exceeded", "description")
	tn.in("PATCH", `{"url":null}`, "webhooks", good).problem(422, "invalid", "url")
	tn.in("PATCH", `{"events":null}`, "webhooks", good).problem(422, "invalid", "events")
	tn.in("POST", `{"url":"https://not.there.example.org/","events":["*"]}`, "webhooks").is(201) // every attempt judges it anew
}

func TestWebhooksOfAScopeAreCounted(t *testing.T) {
	tn := newWorld(t).provision("acme")
	last := ""
	for range rbac.MaxWebhooksInScope {
		last = tn.newHook("https://hooks.acme.com/x", "*")
	}
	body := `{"url":"https://hooks.acme.com/x","events":["*"]}`
	tn.in("POST", body, "webhooks").problem(422, "limit-exceeded")
	tn.in("DELETE", "", "webhooks", last).is(204)
	tn.in("POST", body, "webhooks").is(201)
}

func TestSecretRotation(t *testing.T) {
	tn := newWorld(t).provision("acme")
	id := tn.newHook("https://hooks.acme.com/x", "*")
	first := tn.storedHook(id).Secret
	a := tn.in("POST", `{"overlap":"1h"}`, "webhooks", id, "rotate-secret").is(200)
	a.has(map[string]string{"version": "2", "previous_until": `"2026-03-01T13:00:00.000Z"`})
	hook := tn.storedHook(id)
	if string(hook.Previous) != string(first) || string(hook.Secret) == string(first) || !strings.HasPrefix(a.text("secret"), "whsec_") {
		t.Errorf("rotated to %+v", hook)
	}
	tn.in("POST", "", "webhooks", id, "rotate-secret").is(200).has(map[string]string{"previous_until": `"2026-03-02T12:00:00.000Z"`})
	tn.in("POST", `{"overlap":"7d"}`, "webhooks", id, "rotate-secret").is(200)
	tn.in("POST", `{"overlap":"169h"}`, "webhooks", id, "rotate-secret").problem(422, "invalid", "overlap")
	tn.in("POST", `{"overlap":"0s"}`, "webhooks", id, "rotate-secret").is(200).has(map[string]string{"previous_until": ""})
	if hook := tn.storedHook(id); hook.Previous != nil {
		t.Error("the old secret is kept without an overlap")
	}
}

func TestSwitchingWebhooks(t *testing.T) {
	tn := newWorld(t).provision("acme")
	id := tn.newHook("https://hooks.acme.com/x", "*")
	off := tn.in("POST", "", "webhooks", id, "disable").is(200).has(map[string]string{"status": `"disabled"`, "disabled_reason": `"requested"`})
	n := len(tn.changes())
	if again := tn.in("POST", "", "webhooks", id, "disable").is(200); string(again.body) != string(off.body) || len(tn.changes()) != n {
		t.Errorf("again: %s", again.body)
	}
	// What its receiver did before counts no more.
	o, s := tn.ids()
	state := keys.WebhookState(s, rbac.Must(rbac.ParseWebhookID(id))).Raw()
	err := tn.store.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Put(&table.Item{
		Key: state, Type: "WebhookState", Version: 1, Format: entity.Format, Body: []byte(`{"failures":10}`),
	}, table.Absent())}})
	if err != nil {
		t.Fatal(o, err)
	}
	tn.in("POST", "", "webhooks", id, "enable").is(200).has(map[string]string{"status": `"enabled"`, "disabled_reason": ""})
	if it, err := tn.store.Get(t.Context(), state, table.Strong); it != nil || err != nil {
		t.Errorf("state %v, %v", it, err)
	}
}

func TestTestingAWebhook(t *testing.T) {
	tn := newWorld(t).provision("acme")
	id := tn.newHook("https://hooks.acme.com/x", "role.*")
	n := len(tn.changes())
	a := tn.in("POST", "", "webhooks", id, "test").is(202).has(map[string]string{"type": `"webhook.test"`, "status": `"pending"`, "attempts": "[]"})
	event := tn.eventsSince(n)[0]
	at, err := time.Parse(time.RFC3339, event.Time)
	if err != nil {
		t.Fatal(err)
	}
	// The delivery that its event becomes has the id that was answered.
	if want := (delivery.ID{At: at, Event: event.ID}).String(); a.text("id") != want || a.text("event_id") != event.ID {
		t.Errorf("answered %s, want %s", a.body, want)
	}
	tn.in("POST", "", "webhooks", id, "disable").is(200)
	tn.in("POST", "", "webhooks", id, "test").is(202).has(map[string]string{"status": `"cancelled"`, "cancelled_reason": `"webhook_disabled"`})
}

func TestDeliveries(t *testing.T) {
	tn := newWorld(t).provision("acme")
	hook, other := tn.newHook("https://hooks.acme.com/x", "*"), tn.newHook("https://hooks.acme.com/y", "*")
	states := []entity.DeliveryStatus{entity.DeliveryPending, entity.DeliveryFailed, entity.DeliveryCancelled, entity.DeliverySucceeded, entity.DeliveryFailed}
	ids := make([]string, len(states))
	for i, s := range states {
		ids[i] = tn.newDelivery(hook, s, fmt.Sprintf("evt_%d", i))
	}
	shown := func(query string) string {
		t.Helper()
		var page struct{ Items []struct{ ID string } }
		tn.do(request{method: "GET", path: scopePath(tn.scope, "webhooks", hook, "deliveries"), query: query, key: tn.key}).is(200).into(&page)
		var got []string
		for _, d := range page.Items {
			got = append(got, d.ID)
		}
		return strings.Join(got, " ")
	}
	if got := shown(""); got != strings.Join(ids, " ") { // newest first
		t.Errorf("listed %s, want %s", got, ids)
	}
	if got := shown("status=failed"); got != ids[1]+" "+ids[4] {
		t.Errorf("failed ones: %s", got)
	}
	tn.in("GET", "", "webhooks", hook, "deliveries", ids[1]).is(200).has(map[string]string{
		"event_id": `"evt_1"`, "status": `"failed"`, "next_attempt_at": "", "total_attempts": "1",
		"attempts": `[{"time":"` + tn.attemptTime(hook, ids[1]) + `","url":"https://hooks.acme.com/spare","status_code":500,"duration_ms":7,"error":"error_status","response":"no"}]`,
	})
	for _, missing := range []string{"dlv_1_evt_1", "dlv_x", "evt_1", ids[1] + "x"} {
		tn.in("GET", "", "webhooks", hook, "deliveries", missing).problem(404, "not-found")
		tn.in("POST", "", "webhooks", hook, "deliveries", missing, "replay").problem(404, "not-found")
	}
	tn.in("GET", "", "webhooks", other, "deliveries", ids[1]).problem(404, "not-found")
	tn.in("POST", "", "webhooks", other, "deliveries", ids[1], "replay").problem(404, "not-found")
	if len(tn.sent.messages) > 0 {
		t.Errorf("sent %+v", tn.sent.messages)
	}
	tn.in("POST", "", "webhooks", hook, "deliveries", ids[3], "replay").is(202).has(map[string]string{"status": `"pending"`, "total_attempts": "1"})
	if m := tn.sent.messages; len(m) != 1 || m[0].Event != "evt_3" || m[0].Tries != 1 || !m[0].Asked || m[0].Webhook.String() != hook {
		t.Errorf("sent %+v", m)
	}
}

func (t *tenant) attemptTime(hook, id string) string {
	t.Helper()
	var d struct{ Attempts []struct{ Time string } }
	t.in("GET", "", "webhooks", hook, "deliveries", id).is(200).into(&d)
	return d.Attempts[0].Time
}

func TestRecovering(t *testing.T) {
	tn := newWorld(t).provision("acme")
	hook := tn.newHook("https://hooks.acme.com/x", "*")
	const n = 1050
	for i := range n {
		status := entity.DeliveryFailed
		switch i % 3 {
		case 1:
			status = entity.DeliveryCancelled
		case 2:
			status = entity.DeliverySucceeded
		}
		if i < 3*400 {
			tn.newDelivery(hook, status, fmt.Sprintf("evt_%04d", i))
		}
	}
	a := tn.in("POST", `{"since":"2020-01-01T00:00:00Z"}`, "webhooks", hook, "recover").is(202).has(map[string]string{"recovered": "700", "next_since": ""})
	if len(tn.sent.messages) != 700 {
		t.Fatalf("%d messages; %s", len(tn.sent.messages), a.body)
	}
	for i, m := range tn.sent.messages[1:] {
		if !tn.sent.messages[i].At.Before(m.At) {
			t.Fatalf("message %d is of %s, after one of %s", i+1, m.At, tn.sent.messages[i].At)
		}
	}
	tn.in("POST", `{"since":"2020-01-01T00:00:00Z"}`, "webhooks", hook, "recover").is(202).has(map[string]string{"recovered": "0"})
	tn.in("POST", `{"since":"2100-01-01T00:00:00Z"}`, "webhooks", hook, "recover").is(202).has(map[string]string{"recovered": "0"})
}

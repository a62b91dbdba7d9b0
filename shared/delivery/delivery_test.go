package delivery_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/seal"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/weak/memory"
	"github.com/wardenhq/warden/shared/webhook"
	"github.com/wardenhq/warden/shared/write/writetest"
)

var (
	org   = rbac.Must(rbac.ParseOrgID("acme"))
	scope = rbac.Must(rbac.ParseScopeID("main"))
	hook  = rbac.Must(rbac.ParseWebhookID("wh_1"))
	at    = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
)

func pending(event string) entity.Delivery {
	return entity.Delivery{Org: org, Scope: scope, Webhook: hook, EventID: event, EventTime: at, Type: "role.created", Status: entity.DeliveryPending}
}

func TestIDs(t *testing.T) {
	id := delivery.IDOf(pending("evt_01KJMMA2G04CZ7Q6X57N9HZQ8K"))
	back, err := delivery.ParseID(id.String())
	if err != nil || back != id || len(id.String()) > rbac.MaxID {
		t.Errorf("%s: %v, %v", id, back, err)
	}
	if got := id.Key(scope, hook).Raw(); got != keys.Delivery(scope, hook, at, id.Event).Raw() {
		t.Errorf("key %s", got)
	}
	for _, text := range []string{"dlv_", "dlv_1", "dlv_1_", "dlv__evt", "evt_1", "dlv_01_evt", "dlv_A_evt", "dlv_+1_evt", "dlv_ffffffffffffffffff_evt"} {
		if _, err := delivery.ParseID(text); !errors.Is(err, delivery.ErrNoDelivery) {
			t.Errorf("%s: %v", text, err)
		}
	}
	var wrong *rbac.IDError
	if _, err := delivery.ParseID(strings.Repeat("x", 129)); !errors.As(err, &wrong) {
		t.Errorf("a long one: %v", err)
	}
}

func TestMessages(t *testing.T) {
	m := delivery.AskingFor(delivery.Tried(pending("evt_1"), entity.Attempt{}))
	q, err := m.Queue()
	if err != nil || q.Group != "acme" {
		t.Fatalf("%+v, %v", q, err)
	}
	if back, err := delivery.ReadMessage(q); err != nil || !reflect.DeepEqual(back, m) || !back.Asked || back.Tries != 1 {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := delivery.ReadMessage(queue.Message{Body: []byte("{")}); err == nil {
		t.Error("half a message was read")
	}
}

func TestMessagesTogether(t *testing.T) {
	var asked []delivery.Message
	for i := range 120 {
		asked = append(asked, delivery.AskingFor(pending(fmt.Sprintf("evt_%d", i))))
	}
	var apart []delivery.Message
	together := delivery.Together(asked)
	for _, m := range together {
		apart = append(apart, m.Each()...)
	}
	if len(together) != 3 || !reflect.DeepEqual(apart, asked) {
		t.Errorf("%d messages; %d deliveries", len(together), len(apart))
	}
	if got := delivery.Together(nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

func TestOnlyPendingDeliveriesAreDue(t *testing.T) {
	now := at.Add(time.Second)
	it, err := delivery.New(pending("evt_1"), []byte("body"), now)
	if err != nil {
		t.Fatal(err)
	}
	for status, due := range map[entity.DeliveryStatus]bool{
		entity.DeliveryPending: true, entity.DeliverySucceeded: false, entity.DeliveryFailed: false, entity.DeliveryCancelled: false,
	} {
		d := pending("evt_1")
		d.Status, d.NextAttempt = status, &now
		next, err := delivery.Next(it, d, delivery.System("test"), now, now)
		if err != nil || next.Index[keys.GSI4-1].IsZero() == due || next.Version != it.Version+1 || !bytes.Equal(next.Blob, it.Blob) || next.TTL != it.TTL {
			t.Errorf("%s: %+v, %v", status, next, err)
		}
		if bytes.Contains(next.Body, []byte("next_attempt")) != due {
			t.Errorf("%s: %s", status, next.Body)
		}
	}
}

func vault() delivery.Vault {
	return delivery.Vault{Sealer: seal.Sealer{Keys: seal.Ring{seal.KeyOf([seal.KeySize]byte{1})}, Random: rand.Reader}}
}

func newSecret(t *testing.T) webhook.Secret {
	t.Helper()
	s, err := webhook.NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fixture is a webhook over a table, behind a clock that stands still.
type fixture struct {
	*delivery.Endpoints
	store *memory.Store
	clock *writetest.Clock
	hook  entity.Webhook
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{clock: new(writetest.Clock)}
	f.clock.Advance(at.Sub(time.Time{}))
	f.store = memory.New(f.clock.Now)
	f.Endpoints = &delivery.Endpoints{Table: f.store, Vault: vault(), Clock: f.clock}
	f.hook = entity.Webhook{ID: hook, Org: org, Scope: scope, URL: "https://hooks.acme.com/"}
	var err error
	if f.hook.Secret, err = vault().SealSecret(t.Context(), scope, hook, newSecret(t)); err != nil {
		t.Fatal(err)
	}
	f.put(t, 1)
	return f
}

func (f *fixture) put(t *testing.T, version uint64) {
	t.Helper()
	it := item(t, keys.Webhook(org, scope, hook).Raw(), version, f.hook)
	if err := f.store.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Put(it, table.Any())}}); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) get(t *testing.T) *delivery.Endpoint {
	t.Helper()
	e, err := f.Get(t.Context(), org, scope, hook)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEndpointsAreRememberedForASecond(t *testing.T) {
	f := newFixture(t)
	if got := f.get(t); got.Disabled != "" || len(got.Secrets(at)) != 1 || len(got.Header()) != 0 {
		t.Fatalf("endpoint %+v", got)
	}
	f.hook.Disabled = entity.DisabledByRequest
	f.put(t, 2)
	f.clock.Advance(time.Second - 1)
	if got := f.get(t); got.Disabled != "" {
		t.Error("read again within a second")
	}
	f.clock.Advance(1)
	if got := f.get(t); got.Disabled == "" {
		t.Error("older than a second")
	}
	f.hook.Disabled = ""
	f.put(t, 3)
	f.Drop([]keys.Raw{keys.Org(org).Raw(), keys.Webhook(org, scope, hook).Raw()})
	if got := f.get(t); got.Disabled != "" {
		t.Error("not read again after it was dropped")
	}
	if e, err := f.Get(t.Context(), org, scope, rbac.Must(rbac.ParseWebhookID("other"))); e != nil || err != nil {
		t.Errorf("a webhook that is not there: %v, %v", e, err)
	}
}

func TestSecretsOfAnOverlap(t *testing.T) {
	f := newFixture(t)
	f.hook.Previous = f.hook.Secret
	sealed, err := vault().SealSecret(t.Context(), scope, hook, newSecret(t))
	if err != nil {
		t.Fatal(err)
	}
	f.hook.Secret, f.hook.PreviousEnd = sealed, new(at.Add(time.Hour))
	f.put(t, 2)
	e := f.get(t)
	for moment, want := range map[time.Duration]int{0: 2, time.Hour - 1: 2, time.Hour: 1} {
		if got := len(e.Secrets(at.Add(moment))); got != want {
			t.Errorf("after %s: %d secrets", moment, got)
		}
	}
}

func TestWhatIsSealedOpensForItsWebhookOnly(t *testing.T) {
	v := vault()
	headers := map[string]string{"Authorization": "Bearer x"}
	sealed, err := v.SealHeaders(t.Context(), scope, hook, headers)
	if err != nil || bytes.Contains(sealed, []byte("Bearer")) {
		t.Fatalf("sealed %q, %v", sealed, err)
	}
	own := entity.Webhook{ID: hook, Scope: scope, Headers: sealed}
	if got, err := v.OpenHeaders(t.Context(), own); err != nil || !maps.Equal(got, headers) {
		t.Errorf("%v, %v", got, err)
	}
	other := own
	other.ID = rbac.Must(rbac.ParseWebhookID("other"))
	if _, err := v.OpenHeaders(t.Context(), other); !errors.Is(err, seal.ErrOpen) {
		t.Errorf("another webhook's: %v", err)
	}
	f := newFixture(t)
	f.hook.Headers = f.hook.Secret // moved within its item
	f.put(t, 2)
	if _, err := f.Get(t.Context(), org, scope, hook); !errors.Is(err, seal.ErrOpen) {
		t.Errorf("a secret as headers: %v", err)
	}
}

func TestHealthIsWrittenWhenItChanges(t *testing.T) {
	f := newFixture(t)
	e := f.get(t)
	writes := func() int {
		t.Helper()
		changes, _, err := f.store.Changes(context.Background(), shard(t, f.store), "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		return len(changes)
	}
	note := func(delivered bool) webhook.Health {
		t.Helper()
		h, err := f.Note(t.Context(), e, delivered, f.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	start := writes()
	for range 5 {
		note(true)
	}
	if got := writes() - start; got != 0 {
		t.Errorf("%d writes of a healthy endpoint", got)
	}
	since := f.clock.Now()
	for range 30 {
		note(false)
		note(false) // too soon to count
		f.clock.Advance(time.Minute)
	}
	got := note(false)
	if n := writes() - start; got.Failures != webhook.DisableAttempts || n != webhook.DisableAttempts || !got.FailingSince.Equal(since) {
		t.Errorf("health %+v after %d writes", got, n)
	}
	if got := f.get(t).Health; got.Failures != webhook.DisableAttempts {
		t.Errorf("read as %+v", got)
	}
	if got := note(true); got.Failures != 0 || writes()-start != webhook.DisableAttempts+1 {
		t.Errorf("healed to %+v", got)
	}
	if err := f.store.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Delete(keys.Webhook(org, scope, hook).Raw(), table.Any())}}); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(time.Minute)
	note(false)
	if it, err := f.store.Get(t.Context(), keys.WebhookState(scope, hook).Raw(), table.Strong); it != nil || err != nil {
		t.Errorf("a deleted webhook has a state: %v, %v", it, err)
	}
}

package fanout_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/functions/fanout"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/webhook"
	"github.com/wardenhq/warden/shared/write"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// sent keeps what is sent to a queue; it fails while err is set.
type sent struct {
	mu       sync.Mutex
	messages []queue.Message
	err      error
}

func (s *sent) Send(_ context.Context, batch []queue.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if len(batch) > queue.MaxBatch {
		return fmt.Errorf("%d messages in one batch", len(batch))
	}
	s.messages = append(s.messages, batch...)
	return nil
}

type world struct {
	*writetest.Tenant
	fanout *fanout.Fanout
	queue  *sent
	n      int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Tenant: writetest.New(t).Provision("acme", nil), queue: new(sent)}
	w.fanout = fanout.New(fanout.Config{
		Table: w.Table, Queue: w.queue, Clock: w.Clock, BaseURL: "https://api.example.com", Log: slog.New(slog.DiscardHandler),
		Backoff: retry.Backoff{Clock: w.Clock, Jitter: func() float64 { return 0 }, Tries: 3},
	})
	return w
}

func request(w *writetest.World) *write.Request {
	return w.Writer.NewRequest(write.Origin{Actor: events.Actor{Type: "operator", ID: "test"}})
}

// hook makes a webhook in a tenant's scope.
func (w *world) hook(in *writetest.Tenant, id string, filter ...string) rbac.WebhookID {
	w.T.Helper()
	hook := rbac.Must(rbac.ParseWebhookID(id))
	_, err := w.Writer.CreateWebhook(w.T.Context(), request(in.World), in.Scope, entity.Webhook{
		ID: hook, Org: in.Scope.Org, Scope: in.Scope.ID, URL: "https://hooks.acme.com/", Events: webhook.Filter(filter), Secret: []byte("sealed"),
	})
	w.Must(err)
	return hook
}

// event is a new event in the tenant's scope, which happens now.
func (w *world) event(kind string) events.Event {
	w.n++
	return events.Event{
		ID: fmt.Sprintf("evt_%d", w.n), Type: kind, Time: w.Clock.Now().Format(time.RFC3339Nano), Org: w.Scope.Org.String(),
		Scope: new(w.Scope.ID.String()), Target: events.Target{Type: "role", ID: "r"}, After: json.RawMessage(`{"id":"r"}`),
	}
}

func envelope(t testing.TB, e events.Event) queue.Message {
	t.Helper()
	body, err := json.Marshal(events.Enveloped(e))
	if err != nil {
		t.Fatal(err)
	}
	return queue.Message{ID: e.ID, Body: body}
}

func (w *world) publish(e events.Event) {
	w.T.Helper()
	if failed := w.fanout.Work(w.T.Context(), []queue.Message{envelope(w.T, e)}); len(failed) > 0 {
		w.T.Fatalf("%s failed", failed)
	}
}

// reached are the webhooks that messages were sent for, of an event.
func (w *world) reached(e events.Event) (ids []string) {
	w.T.Helper()
	for _, q := range w.queue.messages {
		m, err := delivery.ReadMessage(q)
		w.Must(err)
		if q.Group != m.Org.String() {
			w.T.Errorf("group %s of org %s", q.Group, m.Org)
		}
		if m.Event == e.ID {
			ids = append(ids, m.Webhook.String())
		}
	}
	slices.Sort(ids)
	return ids
}

// deliveries are a webhook's deliveries, oldest first.
func (w *world) deliveries(s rbac.ScopeID, h rbac.WebhookID) (rows []stored.Row[entity.Delivery]) {
	w.T.Helper()
	rows, _, err := stored.List(w.T.Context(), w.Table, keys.Deliveries(s, h), 100, "")
	w.Must(err)
	return rows
}

func TestFilters(t *testing.T) {
	w := newWorld(t)
	for id, filter := range map[string][]string{
		"all": {"*"}, "roles": {"role.*"}, "created": {"role.created", "org.updated"}, "policies": {"policy.*"}, "broken": {"role*", "**", ""},
	} {
		w.hook(w.Tenant, id, filter...)
	}
	for kind, want := range map[string][]string{
		events.RoleCreated: {"all", "created", "roles"}, events.RoleDeleted: {"all", "roles"}, events.PolicyUpdated: {"all", "policies"},
	} {
		e := w.event(kind)
		w.publish(e)
		if got := w.reached(e); !slices.Equal(got, want) {
			t.Errorf("%s reached %v, want %v", kind, got, want)
		}
	}
}

func TestWhatADeliveryHolds(t *testing.T) {
	w := newWorld(t)
	h := w.hook(w.Tenant, "a", "*")
	e := w.event(events.RoleCreated)
	w.publish(e)
	rows := w.deliveries(w.Scope.ID, h)
	if len(rows) != 1 {
		t.Fatalf("%d deliveries", len(rows))
	}
	d, it := rows[0].Entity, rows[0].Item
	if d.Status != entity.DeliveryPending || d.EventID != e.ID || d.Type != e.Type || d.Tries != 0 || it.Type != "Delivery" || it.Version != 1 {
		t.Errorf("delivery %+v of %+v", d, it)
	}
	data, _ := json.Marshal(e)
	if want := `{"type":"role.created","timestamp":"` + e.Time + `","data":` + string(data) + `}`; string(it.Blob) != want {
		t.Errorf("body %s\nwant %s", it.Blob, want)
	}
	if got := time.Unix(it.TTL, 0).Sub(w.Clock.Now()); got != 30*24*time.Hour {
		t.Errorf("kept for %s", got)
	}
	// Due in case its message is lost.
	due := it.Index[keys.GSI4-1].SK()
	if want := w.Clock.Now().Add(delivery.Grace).Format(keys.TimeLayout); !strings.HasPrefix(due, want) {
		t.Errorf("due %s, want %s", due, want)
	}
}

func TestOrgEventsReachEveryScope(t *testing.T) {
	w := newWorld(t)
	second := w.NewScope("acme-second")
	other := w.Provision("other", nil)
	w.hook(w.Tenant, "first", "*")
	w.hook(second, "second", "org.*")
	w.hook(second, "deaf", "role.*")
	w.hook(other, "foreign", "*")
	e := w.event(events.OrgUpdated)
	e.Scope = nil
	w.publish(e)
	if got := w.reached(e); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("reached %v", got)
	}
	scoped := w.event(events.OrgUpdated)
	w.publish(scoped)
	if got := w.reached(scoped); !slices.Equal(got, []string{"first"}) {
		t.Errorf("a scope's event reached %v", got)
	}
}

func TestManyEndpointsOfAnOrg(t *testing.T) {
	w := newWorld(t)
	var want []string
	for s := range 7 {
		scope := w.NewScope(fmt.Sprintf("scope-%d", s))
		for h := range rbac.MaxWebhooksInScope {
			id := fmt.Sprintf("h-%d-%02d", s, h)
			w.hook(scope, id, "*")
			want = append(want, id)
		}
	}
	e := w.event(events.OrgUpdated)
	e.Scope = nil
	w.publish(e)
	if got := w.reached(e); !slices.Equal(got, want) {
		t.Errorf("reached %d of %d", len(got), len(want))
	}
}

func TestAnEventTwice(t *testing.T) {
	w := newWorld(t)
	h := w.hook(w.Tenant, "a", "*")
	e := w.event(events.RoleCreated)
	w.publish(e)
	w.hook(w.Tenant, "later", "*") // made at the same moment, by this clock: it is wanted there too
	w.Clock.Advance(2 * time.Second)
	w.publish(e)
	if got := w.reached(e); !slices.Equal(got, []string{"a", "a", "later"}) { // the first message may be lost
		t.Errorf("reached %v", got)
	}
	if got := len(w.deliveries(w.Scope.ID, h)); got != 1 {
		t.Fatalf("%d deliveries", got)
	}
	// What is over is not asked for again.
	d := w.deliveries(w.Scope.ID, h)[0]
	d.Entity.Status = entity.DeliverySucceeded
	next, err := delivery.Next(d.Item, d.Entity, delivery.System("test"), w.Clock.Now(), time.Time{})
	w.Must(err)
	w.Must(w.Table.Transact(t.Context(), table.Tx{Ops: []table.Op{delivery.Replace(next)}}))
	w.queue.messages = nil
	w.publish(e)
	if got := w.reached(e); !slices.Equal(got, []string{"later"}) {
		t.Errorf("reached %v", got)
	}
}

func TestWhoIsSentWhat(t *testing.T) {
	w := newWorld(t)
	old := w.event(events.RoleCreated)
	w.Clock.Advance(time.Second)
	tests := w.hook(w.Tenant, "tested", "role.*")
	hooks := w.hook(w.Tenant, "hooks", "webhook.*")
	about := func(kind string, h rbac.WebhookID) events.Event {
		e := w.event(kind)
		e.Target = events.Target{Type: "webhook", ID: h.String()}
		return e
	}
	foreign := about(events.WebhookTest, tests)
	foreign.Target.Type = "role" // by chance of the same id
	for name, c := range map[string]struct {
		e    events.Event
		want []string
	}{
		"what was before it":        {old, nil},
		"a test":                    {about(events.WebhookTest, tests), []string{"hooks", "tested"}},
		"a test of another kind":    {foreign, []string{"hooks"}},
		"disabled":                  {about(events.WebhookDisabled, hooks), nil},
		"another's being disabled":  {about(events.WebhookDisabled, tests), []string{"hooks"}},
		"enabled":                   {about(events.WebhookEnabled, hooks), []string{"hooks"}},
		"an event nobody asked for": {w.event(events.PermissionCreated), nil},
	} {
		w.publish(c.e)
		if got := w.reached(c.e); !slices.Equal(got, c.want) {
			t.Errorf("%s reached %v, want %v", name, got, c.want)
		}
	}
}

func TestDisabledEndpointsMissNothingForGood(t *testing.T) {
	w := newWorld(t)
	h := w.hook(w.Tenant, "a", "*")
	_, err := w.Writer.DisableWebhook(t.Context(), request(w.World), w.Scope, h, entity.DisabledByRequest, nil)
	w.Must(err)
	e := w.event(events.RoleCreated)
	w.publish(e)
	rows := w.deliveries(w.Scope.ID, h)
	if len(rows) != 1 || rows[0].Entity.Status != entity.DeliveryCancelled || rows[0].Entity.Cancelled != entity.CancelledDisabled || !rows[0].Item.Index[keys.GSI4-1].IsZero() {
		t.Fatalf("deliveries %+v", rows)
	}
	if got := w.reached(e); got != nil {
		t.Errorf("reached %v", got)
	}
	if len(rows[0].Item.Blob) == 0 {
		t.Error("there is nothing to send later")
	}
}

// A webhook that was made before an event is sent it, whatever was remembered.
func TestNewWebhooksAreNotMissed(t *testing.T) {
	w := newWorld(t)
	w.hook(w.Tenant, "a", "*")
	w.publish(w.event(events.RoleCreated))
	for i := range 5 {
		w.Clock.Advance(time.Millisecond)
		id := fmt.Sprintf("new-%d", i)
		w.hook(w.Tenant, id, "*")
		w.Clock.Advance(time.Millisecond)
		e := w.event(events.RoleCreated)
		w.publish(e)
		if got := w.reached(e); !slices.Contains(got, id) {
			t.Errorf("reached %v, without %s", got, id)
		}
	}
}

// A webhook is written after its request began, and the endpoints may have been
// read in between, for another event.
func TestAWebhookIsToldOfItself(t *testing.T) {
	w := newWorld(t)
	w.hook(w.Tenant, "a", "*")
	req, made := request(w.World), w.event(events.WebhookCreated)
	w.Clock.Advance(time.Millisecond)
	w.publish(w.event(events.RoleCreated))
	_, err := w.Writer.CreateWebhook(t.Context(), req, w.Scope, entity.Webhook{
		ID: rbac.Must(rbac.ParseWebhookID("new")), Org: w.Scope.Org, Scope: w.Scope.ID, URL: "https://hooks.acme.com/",
		Events: webhook.Filter{"*"}, Secret: []byte("sealed"),
	})
	w.Must(err)
	w.Clock.Advance(time.Millisecond)
	w.publish(made)
	if got := w.reached(made); !slices.Equal(got, []string{"a", "new"}) {
		t.Errorf("reached %v", got)
	}
}

// Events that wait in the queue share one reading of the endpoints.
func TestABacklogReadsOnce(t *testing.T) {
	w := newWorld(t)
	w.hook(w.Tenant, "a", "*")
	var batch []queue.Message
	for range 10 {
		batch = append(batch, envelope(t, w.event(events.RoleCreated)))
	}
	w.Clock.Advance(time.Millisecond)
	var meter table.Meter
	if failed := w.fanout.Work(table.WithMeter(t.Context(), &meter), batch); len(failed) > 0 {
		t.Fatal(failed)
	}
	if got := meter.Cost().Ops; got != 11 { // a query, and a transaction an event
		t.Errorf("%d operations", got)
	}
}

func TestLargeEventsAreThin(t *testing.T) {
	w := newWorld(t)
	h := w.hook(w.Tenant, "a", "*")
	e := w.event(events.RoleCreated)
	e.Before = json.RawMessage(`"` + strings.Repeat("b", 15_000) + `"`)
	e.After = json.RawMessage(`"` + strings.Repeat("a", 15_000) + `"`)
	w.publish(e)
	body := w.deliveries(w.Scope.ID, h)[0].Item.Blob
	if len(body) > webhook.MaxBody || bytes.Contains(body, []byte("bbb")) {
		t.Errorf("%d bytes", len(body))
	}
	var sent struct{ Data struct{ ID, Link string } }
	w.Must(json.Unmarshal(body, &sent))
	if sent.Data.ID != e.ID || !strings.HasPrefix(sent.Data.Link, "https://api.example.com/v1/scopes/acme/audit?") || !strings.Contains(sent.Data.Link, "target=role%2Fr") {
		t.Errorf("link %s", sent.Data.Link)
	}
}

func TestPoison(t *testing.T) {
	w := newWorld(t)
	w.hook(w.Tenant, "a", "*")
	good := w.event(events.RoleCreated)
	noOrg, noTime := w.event(events.RoleCreated), w.event(events.RoleCreated)
	noOrg.Org, noTime.Time = "", "yesterday"
	batch := []queue.Message{{ID: "text", Body: []byte("text")}, {ID: "empty", Body: []byte("{}")}, envelope(t, noOrg), envelope(t, good), envelope(t, noTime)}
	if got := w.fanout.Work(t.Context(), batch); !slices.Equal(got, []string{"text", "empty", noOrg.ID, noTime.ID}) {
		t.Errorf("failed %v", got)
	}
	if got := w.reached(good); len(got) != 1 {
		t.Errorf("the good one reached %v", got)
	}
}

// A queue that fails gives the event back; the next time makes no second delivery.
func TestAFailingQueue(t *testing.T) {
	w := newWorld(t)
	h := w.hook(w.Tenant, "a", "*")
	e := w.event(events.RoleCreated)
	w.queue.err = errors.New("no disk")
	if got := w.fanout.Work(t.Context(), []queue.Message{envelope(t, e)}); !slices.Equal(got, []string{e.ID}) {
		t.Errorf("failed %v", got)
	}
	w.queue.err = nil
	w.publish(e)
	if got := w.reached(e); len(got) != 1 || len(w.deliveries(w.Scope.ID, h)) != 1 {
		t.Errorf("reached %v, %d deliveries", got, len(w.deliveries(w.Scope.ID, h)))
	}
}

// Fifty workers with one event make one delivery for each endpoint.
func TestAnEventInManyHands(t *testing.T) {
	w := newWorld(t)
	hooks := []rbac.WebhookID{w.hook(w.Tenant, "a", "*"), w.hook(w.Tenant, "b", "*")}
	m := envelope(t, w.event(events.RoleCreated))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { w.fanout.Work(t.Context(), []queue.Message{m}) })
	}
	all.Wait()
	for _, h := range hooks {
		if got := w.deliveries(w.Scope.ID, h); len(got) != 1 || got[0].Item.Version != 1 {
			t.Errorf("%s has %d deliveries", h, len(got))
		}
	}
}

package purge_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/purge"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/webhook"
	"github.com/wardenhq/warden/shared/write"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// A deleted scope's webhooks go with their deliveries and states; another
// scope's stay.
func TestWebhooksGoWithTheirScope(t *testing.T) {
	w := writetest.New(t).Provision("acme", nil)
	other := w.NewScope("acme-2")
	request := func() *write.Request {
		return w.Writer.NewRequest(write.Origin{Actor: events.Actor{Type: "operator", ID: "test"}})
	}
	for _, tenant := range []*writetest.Tenant{w, other} {
		for h := range 2 {
			hook := entity.Webhook{
				ID: rbac.Must(rbac.ParseWebhookID(fmt.Sprintf("wh_%d", h))), Org: tenant.Scope.Org, Scope: tenant.Scope.ID,
				URL: "https://hooks.acme.com/", Events: webhook.Filter{"*"}, Secret: []byte("sealed"),
			}
			_, err := w.Writer.CreateWebhook(t.Context(), request(), tenant.Scope, hook)
			w.Must(err)
			w.Put(keys.WebhookState(hook.Scope, hook.ID).Raw(), "WebhookState", 1, entity.WebhookState{})
			for n := range purge.Piece + 10 {
				d := entity.Delivery{
					Org: hook.Org, Scope: hook.Scope, Webhook: hook.ID, EventID: fmt.Sprintf("evt_%d", n),
					EventTime: w.Clock.Now(), Status: entity.DeliveryPending,
				}
				it, err := delivery.New(d, []byte("body"), w.Clock.Now())
				w.Must(err)
				w.PutItem(it)
			}
		}
	}
	w.DeleteScope()
	p := &purge.Purger{Engine: &recompute.Engine{Table: w.Table, Snapshots: w.Snapshots, Clock: w.Clock, Backoff: w.Writer.Backoff}}
	for range 20 {
		e, it, err := stored.Get(t.Context(), w.Table, keys.Scope(w.Scope.Org, w.Scope.ID), table.Strong)
		w.Must(err)
		if it == nil {
			break
		}
		_, err = p.Scope(t.Context(), it, e)
		w.Must(err)
		w.Clock.Advance(time.Minute)
	}
	if got := held(w, w.Scope.ID); got != 0 {
		t.Errorf("%d items of the deleted scope's webhooks are left", got)
	}
	if got := held(other, other.Scope.ID); got != 2*(1+1+purge.Piece+10) {
		t.Errorf("the other scope's webhooks have %d items", got)
	}
}

// held counts the items of a scope's webhooks.
func held(w *writetest.Tenant, s rbac.ScopeID) (n int) {
	w.T.Helper()
	count := func(pk, prefix string) {
		for cursor := ""; ; {
			page, err := w.Table.Query(context.Background(), table.Query{PK: pk, Prefix: prefix, Limit: 1000, Cursor: cursor})
			w.Must(err)
			n += len(page.Items)
			if cursor = page.Cursor; cursor == "" {
				return
			}
		}
	}
	hooks := keys.Webhooks(w.Scope.Org, s)
	count(hooks.PK(), hooks.Prefix())
	for h := range 2 {
		id := rbac.Must(rbac.ParseWebhookID(fmt.Sprintf("wh_%d", h)))
		in := keys.Deliveries(s, id)
		count(in.PK(), in.Prefix())
		count(in.PK(), "STATE")
	}
	return n
}

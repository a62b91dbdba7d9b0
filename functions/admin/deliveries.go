package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

var deliveryStatus = httpapi.QueryParam{
	Name: "status", Kind: httpapi.Enum, Doc: "only deliveries in this state",
	Values: []string{
		string(entity.DeliveryPending), string(entity.DeliverySucceeded), string(entity.DeliveryFailed), string(entity.DeliveryCancelled),
	},
}

func (a *api) webhookDeliveries() []httpapi.Endpoint {
	const collection = webhookPath + "/deliveries"
	return []httpapi.Endpoint{
		httpapi.Bind(httpapi.Route{
			Name: "webhooks.test", Summary: "Send a webhook an event that says that it is a test",
			Method: http.MethodPost, Pattern: webhookPath + "/test", Permission: hooks,
			Success: []int{http.StatusAccepted}, Creates: true,
		}, inScope(a, a.testWebhook)),
		httpapi.Bind(httpapi.Route{
			Name: "webhooks.recover", Summary: "Deliver what failed or was cancelled, of events from a moment on",
			Method: http.MethodPost, Pattern: webhookPath + "/recover", Permission: hooks,
			Success: []int{http.StatusAccepted},
		}, inScope(a, a.recoverDeliveries)),
		httpapi.Bind(httpapi.Route{
			Name: "deliveries.list", Summary: "List the deliveries to a webhook of the last 30 days, newest event first",
			Method: http.MethodGet, Pattern: collection, Permission: hooks,
			Success: []int{http.StatusOK}, List: true, Query: []httpapi.QueryParam{deliveryStatus},
		}, inScope(a, a.listDeliveries)),
		httpapi.Bind(httpapi.Route{
			Name: "deliveries.get", Summary: "Show a delivery with its attempts",
			Method: http.MethodGet, Pattern: collection + "/{delivery}", Permission: hooks,
			Success: []int{http.StatusOK},
		}, inScope(a, a.getDelivery)),
		httpapi.Bind(httpapi.Route{
			Name: "deliveries.replay", Summary: "Deliver an event once more, under its id",
			Method: http.MethodPost, Pattern: collection + "/{delivery}/replay", Permission: hooks,
			Success: []int{http.StatusAccepted},
		}, inScope(a, a.replayDelivery)),
	}
}

// hook is the webhook that a call is about.
func (a *api) hook(ctx context.Context, c *httpapi.Call, s write.Scope) (rbac.WebhookID, error) {
	id, err := webhookID(c)
	if err != nil {
		return id, err
	}
	it, err := a.table.Get(ctx, keys.Webhook(s.Org, s.ID, id).Raw(), table.Strong)
	if err == nil && it == nil {
		err = write.ErrNoWebhook
	}
	return id, err
}

// testWebhook answers with the delivery to come: its event takes the way of all
// events.
func (a *api) testWebhook(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[resource.Delivery], error) {
	id, err := webhookID(c)
	if err != nil {
		return httpapi.Reply[resource.Delivery]{}, err
	}
	var asked *write.Request
	return create(ctx, a, c, change[resource.Delivery]{
		make: func(req *write.Request) (write.Outcome, error) {
			asked = req
			return a.writer.TestWebhook(ctx, req, s, id)
		},
		answer: func(out write.Outcome) (httpapi.Reply[resource.Delivery], error) {
			hook, err := stored.Decode[entity.Webhook](out.Item)
			if err != nil {
				return httpapi.Reply[resource.Delivery]{}, err
			}
			d := entity.Delivery{EventID: asked.EventID, EventTime: asked.Time, Type: events.WebhookTest, Status: entity.DeliveryPending}
			if hook.Disabled != "" {
				d = delivery.Cancelled(d, entity.CancelledDisabled)
			}
			shown := resource.OfDelivery(&table.Item{CreatedAt: asked.Time}, d)
			return httpapi.Reply[resource.Delivery]{
				Body: shown, Revision: out.Revision,
				Location: path("scopes", s.ID.String(), "webhooks", id.String(), "deliveries", shown.ID.String()),
			}, nil
		},
	})
}

func (a *api) listDeliveries(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.Page[resource.Delivery]], error) {
	none := httpapi.Reply[httpapi.Page[resource.Delivery]]{}
	id, err := a.hook(ctx, c, s)
	if err != nil {
		return none, err
	}
	status, filtered := c.Query(deliveryStatus.Name)
	in := keys.Deliveries(s.ID, id)
	q := table.Query{PK: in.PK(), Prefix: in.Prefix(), Descending: true, Consistency: table.Strong}
	page, err := httpapi.ReadPage(ctx, c, a.table, q, func(it *table.Item) (shown resource.Delivery, ok bool, err error) {
		d, err := stored.Decode[entity.Delivery](it)
		if err != nil || filtered && string(d.Status) != status {
			return shown, false, err
		}
		return resource.OfDelivery(it, d), true, nil
	})
	return httpapi.Reply[httpapi.Page[resource.Delivery]]{Body: page}, err
}

// delivery is the delivery that a call is about.
func (a *api) delivery(ctx context.Context, c *httpapi.Call, s write.Scope) (k keys.Key[entity.Delivery], err error) {
	id, err := httpapi.ParamID(c, "delivery", delivery.ParseID)
	if err != nil {
		return k, err
	}
	hook, err := a.hook(ctx, c, s)
	return id.Key(s.ID, hook), err
}

func (a *api) getDelivery(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[resource.Delivery], error) {
	k, err := a.delivery(ctx, c, s)
	if err != nil {
		return httpapi.Reply[resource.Delivery]{}, err
	}
	return one(ctx, a, k, delivery.ErrNoDelivery, always, resource.OfDelivery)
}

func by(c *httpapi.Call) delivery.By {
	return delivery.By{Actor: createdBy(c), RequestID: c.RequestID()}
}

func (a *api) replayDelivery(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[resource.Delivery], error) {
	none := httpapi.Reply[resource.Delivery]{}
	k, err := a.delivery(ctx, c, s)
	if err != nil {
		return none, err
	}
	it, d, err := delivery.Replay(ctx, a.writer.Table, k, by(c), a.now())
	if err != nil {
		return none, err
	}
	if err := delivery.Send(ctx, a.deliveries, delivery.AskingFor(d)); err != nil {
		return none, err
	}
	return httpapi.Reply[resource.Delivery]{Body: resource.OfDelivery(it, d), Revision: revision.OfScope(s.ID).String()}, nil
}

func (a *api) now() time.Time { return a.clock.Now().UTC().Round(0) }

type recoverSince struct {
	Since instant.Time `json:"since"`
}

// recovered says how many deliveries were taken up. There are more when NextSince
// is there: the same request from that moment goes on.
type recovered struct {
	Recovered int          `json:"recovered"`
	NextSince instant.Time `json:"next_since,omitzero"`
}

func (a *api) recoverDeliveries(ctx context.Context, c *httpapi.Call, s write.Scope, body recoverSince) (httpapi.Reply[recovered], error) {
	none := httpapi.Reply[recovered]{}
	id, err := a.hook(ctx, c, s)
	if err != nil {
		return none, err
	}
	since, _ := body.Since.Get()
	r, err := delivery.Recover(ctx, a.writer.Table, s.ID, id, since, by(c), a.now())
	if err != nil {
		return none, err
	}
	if err := delivery.Send(ctx, a.deliveries, delivery.Together(r.Asked)...); err != nil {
		return none, err
	}
	answer := recovered{Recovered: len(r.Asked)}
	if !r.Next.IsZero() {
		answer.NextSince = instant.At(r.Next)
	}
	return httpapi.Reply[recovered]{Body: answer, Revision: revision.OfScope(s.ID).String()}, nil
}

package keys

import (
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
)

// Webhook is a scope's webhook, in its org's partition: those of a scope and
// those of an org are both listed consistently, without an index.
func Webhook(o rbac.OrgID, s rbac.ScopeID, w rbac.WebhookID) Key[entity.Webhook] {
	return key[entity.Webhook](join("ORG", o.String()), join("WEBHOOK", s.String(), w.String()))
}

// Webhooks are the webhooks of a scope.
func Webhooks(o rbac.OrgID, s rbac.ScopeID) Range[entity.Webhook] {
	return Range[entity.Webhook]{pk: join("ORG", o.String()), prefix: prefix("WEBHOOK", s.String())}
}

// OrgWebhooks are the webhooks of all scopes of an org.
func OrgWebhooks(o rbac.OrgID) Range[entity.Webhook] {
	return Range[entity.Webhook]{pk: join("ORG", o.String()), prefix: prefix("WEBHOOK")}
}

// WebhookState is what a webhook's attempts say of it, in the partition of its
// deliveries.
func WebhookState(s rbac.ScopeID, w rbac.WebhookID) Key[entity.WebhookState] {
	return key[entity.WebhookState](join("WEBHOOK", s.String(), w.String()), "STATE")
}

// Delivery is an event's delivery to a webhook; at is the event's time.
func Delivery(s rbac.ScopeID, w rbac.WebhookID, at time.Time, event string) Key[entity.Delivery] {
	return key[entity.Delivery](join("WEBHOOK", s.String(), w.String()), join("DELIVERY", at.UTC().Format(TimeLayout), event))
}

// Deliveries are all deliveries to a webhook, by the time of their events.
func Deliveries(s rbac.ScopeID, w rbac.WebhookID) Range[entity.Delivery] {
	return Range[entity.Delivery]{pk: join("WEBHOOK", s.String(), w.String()), prefix: prefix("DELIVERY")}
}

// DeliveriesBetween are the bounds of a webhook's deliveries of events from a
// moment on, up to and with another: partition, first and last sort key.
func DeliveriesBetween(s rbac.ScopeID, w rbac.WebhookID, from, to time.Time) (pk, first, last string) {
	return join("WEBHOOK", s.String(), w.String()),
		"DELIVERY#" + from.UTC().Format(TimeLayout), "DELIVERY#" + to.UTC().Format(TimeLayout) + "$" // after every id's separator
}

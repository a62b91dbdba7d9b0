package resource

import (
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/webhook"
)

// WebhookStatus says whether a webhook is sent anything.
type WebhookStatus string

// The states of a webhook.
const (
	WebhookEnabled  WebhookStatus = "enabled"
	WebhookDisabled WebhookStatus = "disabled"
)

// Webhook is an endpoint, without its secret and the values of its headers.
type Webhook struct {
	ID             rbac.WebhookID        `json:"id"`
	URL            string                `json:"url"`
	Events         webhook.Filter        `json:"events"`
	Description    string                `json:"description,omitempty"`
	HeaderNames    []string              `json:"header_names,omitempty"`
	RateLimit      int                   `json:"rate_limit,omitzero"` // deliveries a second; left out: no limit of its own
	Status         WebhookStatus         `json:"status"`
	DisabledReason entity.DisabledReason `json:"disabled_reason,omitempty"`
	PreviousUntil  instant.Time          `json:"previous_until,omitzero"` // until when the secret before the rotation signs too
	Stamp
}

// OfWebhook shows a webhook.
func OfWebhook(it *table.Item, e entity.Webhook) Webhook {
	w := Webhook{
		ID: e.ID, URL: e.URL, Events: e.Events, Description: e.Description, HeaderNames: e.HeaderNames, RateLimit: e.RateLimit,
		Status: WebhookEnabled, DisabledReason: e.Disabled, PreviousUntil: instant.OrNone(e.PreviousEnd), Stamp: StampOf(it),
	}
	if e.Disabled != "" {
		w.Status = WebhookDisabled
	}
	return w
}

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	ID              delivery.ID           `json:"id"`
	EventID         string                `json:"event_id"`
	Type            string                `json:"type"`
	Status          entity.DeliveryStatus `json:"status"`
	CancelledReason entity.CancelReason   `json:"cancelled_reason,omitempty"`
	Attempts        []Attempt             `json:"attempts"`       // the latest 20
	TotalAttempts   int                   `json:"total_attempts"` // those left out, too
	NextAttemptAt   instant.Time          `json:"next_attempt_at,omitzero"`
	CreatedAt       instant.Time          `json:"created_at"`
}

// Attempt is one try of a delivery.
type Attempt struct {
	Time       instant.Time `json:"time"`
	URL        string       `json:"url"`
	StatusCode int          `json:"status_code,omitzero"`
	DurationMS int64        `json:"duration_ms"`
	Error      string       `json:"error,omitempty"`
	Response   string       `json:"response,omitempty"`          // of its body, the first 2 KB
	Truncated  bool         `json:"response_truncated,omitzero"` // there was more
}

// OfDelivery shows a delivery.
func OfDelivery(it *table.Item, e entity.Delivery) Delivery {
	d := Delivery{
		ID: delivery.IDOf(e), EventID: e.EventID, Type: e.Type, Status: e.Status, CancelledReason: e.Cancelled,
		Attempts: make([]Attempt, len(e.Attempts)), TotalAttempts: e.Tries,
		NextAttemptAt: instant.OrNone(e.NextAttempt), CreatedAt: instant.At(it.CreatedAt),
	}
	for i, a := range e.Attempts {
		d.Attempts[i] = Attempt{instant.At(a.Time), a.URL, a.StatusCode, a.DurationMS, a.Error, a.Response, a.Cut}
	}
	return d
}

package entity

import (
	"time"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/webhook"
)

// DisabledReason is why a webhook is disabled; a stable word.
type DisabledReason string

// The reasons.
const (
	DisabledByRequest DisabledReason = "requested" // somebody asked for it
	DisabledGone      DisabledReason = "gone"      // its receiver answered 410
	DisabledFailing   DisabledReason = "failing"   // no delivery succeeded for days
)

// Webhook is an endpoint of a scope. Its secrets and the values of its headers
// are sealed.
type Webhook struct {
	ID          rbac.WebhookID `json:"id"`
	Org         rbac.OrgID     `json:"org"`
	Scope       rbac.ScopeID   `json:"scope"`
	URL         string         `json:"url"`
	Events      webhook.Filter `json:"events"`
	Description string         `json:"description,omitempty"`
	HeaderNames []string       `json:"header_names,omitempty"` // in canonical form, sorted
	Headers     []byte         `json:"headers,omitempty"`      // sealed
	RateLimit   int            `json:"rate_limit,omitzero"`    // deliveries a second; 0: no limit of its own
	Secret      []byte         `json:"secret"`                 // sealed
	Previous    []byte         `json:"previous,omitempty"`     // sealed: the secret before a rotation
	PreviousEnd *time.Time     `json:"previous_until,omitempty"`
	Disabled    DisabledReason `json:"disabled,omitempty"` // empty: enabled
}

// WebhookState is what an endpoint's attempts of late say of it.
type WebhookState struct {
	webhook.Health
}

// DeliveryStatus is where a delivery is.
type DeliveryStatus string

// The states of a delivery.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliverySucceeded DeliveryStatus = "succeeded"
	DeliveryFailed    DeliveryStatus = "failed"    // after the last attempt, or by a 410
	DeliveryCancelled DeliveryStatus = "cancelled" // not attempted, or not any more: see Cancelled
)

// CancelReason is why a delivery was cancelled; a stable word.
type CancelReason string

// The reasons.
const (
	CancelledDisabled CancelReason = "webhook_disabled"
	CancelledDeleted  CancelReason = "webhook_deleted"
)

// Delivery is one event on its way to one endpoint. The bytes to send are the
// item's Blob.
type Delivery struct {
	Org         rbac.OrgID     `json:"org"`
	Scope       rbac.ScopeID   `json:"scope"`
	Webhook     rbac.WebhookID `json:"webhook"`
	EventID     string         `json:"event_id"`
	EventTime   time.Time      `json:"event_time"`
	Type        string         `json:"type"`
	Status      DeliveryStatus `json:"status"`
	Cancelled   CancelReason   `json:"cancelled,omitempty"`
	Round       int            `json:"round,omitzero"` // attempts since it became pending last: where on the ladder it is
	Tries       int            `json:"tries,omitzero"` // attempts ever
	Attempts    []Attempt      `json:"attempts,omitempty"`
	NextAttempt *time.Time     `json:"next_attempt,omitempty"`
}

// Attempt is one try of a delivery, and what came of it.
type Attempt struct {
	Time       time.Time `json:"time"` // when it began
	URL        string    `json:"url"`
	StatusCode int       `json:"status_code,omitzero"` // 0: no whole answer
	DurationMS int64     `json:"duration_ms"`
	Error      string    `json:"error,omitempty"` // an egress.Kind; empty: it succeeded
	Response   string    `json:"response,omitempty"`
	Cut        bool      `json:"cut,omitzero"` // the answer was longer than Response
}

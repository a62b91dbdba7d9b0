package delivery

import (
	"strconv"
	"strings"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table/keys"
)

// ErrNoDelivery is the fault of a delivery that does not exist.
var ErrNoDelivery = fault.New(fault.NotFound, "no such delivery")

// ID names a delivery among those of its webhook: the event, and its time,
// which the key begins with.
type ID struct {
	At    time.Time
	Event string
}

const idPrefix = "dlv_"

// IDOf is a delivery's id.
func IDOf(d entity.Delivery) ID { return ID{d.EventTime, d.EventID} }

// String is the public form: dlv_, the time in nanoseconds in hex, and the
// event's id.
func (id ID) String() string {
	return idPrefix + strconv.FormatInt(id.At.UnixNano(), 16) + "_" + id.Event
}

// MarshalText is String.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// ParseID reads an id; a text that is none names no delivery. Errors:
// *rbac.IDError for what breaks the grammar of ids, ErrNoDelivery.
func ParseID(text string) (ID, error) {
	if _, err := rbac.ParseWebhookID(text); err != nil { // one grammar for all ids
		return ID{}, err
	}
	rest, ok := strings.CutPrefix(text, idPrefix)
	at, event, found := strings.Cut(rest, "_")
	nanos, err := strconv.ParseInt(at, 16, 64)
	id := ID{time.Unix(0, nanos).UTC(), event}
	if !ok || !found || err != nil || event == "" || id.String() != text {
		return ID{}, ErrNoDelivery
	}
	return id, nil
}

// Key leads to the delivery.
func (id ID) Key(s rbac.ScopeID, w rbac.WebhookID) keys.Key[entity.Delivery] {
	return keys.Delivery(s, w, id.At, id.Event)
}

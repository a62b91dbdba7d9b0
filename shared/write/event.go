package write

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/httpapi/segment"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// eventLife is how long an event item stays in the outbox.
const eventLife = 14 * 24 * time.Hour

// outbox is an event item's Body.
type outbox struct {
	Event   events.Event `json:"event"`
	Attempt int          `json:"attempt"` // which of the request's plans was committed
}

func (req *Request) eventItem(e *events.Event, attempt int) (it *table.Item, err error) {
	e.ID, e.Time = req.EventID, instant.At(req.Time).String()
	e.Actor, e.OnBehalfOf, e.RequestID, e.SourceIP = req.Actor, req.OnBehalfOf, req.RequestID, req.SourceIP
	if e.Before, e.After, err = events.Fit(e.Before, e.After, link(e)); err != nil {
		return nil, fmt.Errorf("write: event: %w", err)
	}
	body, err := json.Marshal(outbox{Event: *e, Attempt: attempt})
	if err != nil {
		return nil, fmt.Errorf("write: event: %w", err)
	}
	org, err := rbac.ParseOrgID(e.Org)
	if err != nil {
		return nil, fmt.Errorf("write: event: %w", err)
	}
	key := keys.OrgEvent(org, req.Time, req.EventID).Raw()
	if e.Scope != nil {
		scope, err := rbac.ParseScopeID(*e.Scope)
		if err != nil {
			return nil, fmt.Errorf("write: event: %w", err)
		}
		key = keys.ScopeEvent(scope, 0, req.Time, req.EventID).Raw()
	}
	it = req.item(key, "Event", 1, nil)
	it.Body, it.LastEvent = body, ""
	it.TTL = req.Time.Add(eventLife).Unix()
	return it, nil
}

// ownSuccess is the plan that an earlier try committed, its answer lost; nil
// when the event item was not there.
func ownSuccess(canceled *table.CanceledError, ops []table.Op, event keys.Raw, tried []*plan) (*plan, error) {
	for i, r := range canceled.Reasons {
		if ops[i].Key != event || !r.Failed || r.Found == nil {
			continue
		}
		var o outbox
		if err := json.Unmarshal(r.Found.Body, &o); err != nil {
			return nil, fmt.Errorf("write: event %s: %w", event, err)
		}
		if o.Attempt < 0 || o.Attempt >= len(tried) {
			return nil, fmt.Errorf("write: event %s is of another request", event)
		}
		return tried[o.Attempt], nil
	}
	return nil, nil
}

// collections are where the API has the targets of events that are in a scope
// or an org.
var collections = map[string]string{
	"permission": "permissions",
	"role":       "roles",
	"policy":     "policies",
	"api_key":    "api-keys",
	"webhook":    "webhooks",
}

// link is the path of an event's target.
func link(e *events.Event) string {
	owner := "/v1/orgs/" + segment.Encode(e.Org)
	if e.Scope != nil {
		owner = "/v1/scopes/" + segment.Encode(*e.Scope)
	}
	if in, ok := collections[e.Target.Type]; ok {
		return owner + "/" + in + "/" + segment.Encode(e.Target.ID)
	}
	return owner
}

// shown is a resource in an event's before or after; nil stays null.
func shown(resource any) ([]byte, error) {
	b, err := json.Marshal(resource)
	if err != nil {
		return nil, fmt.Errorf("write: event: %w", err)
	}
	return b, nil
}

package audit

import (
	"strings"
	"time"

	"github.com/wardenhq/warden/events"
	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/webhook"
)

// The query parameters of the lists.
const (
	paramFrom   = "from"
	paramTo     = "to"
	paramActor  = "actor"
	paramAction = "action"
	paramTarget = "target"
	paramOrder  = "order"
)

const (
	newestFirst = "desc"
	oldestFirst = "asc"
)

var filterParams = []httpapi.QueryParam{
	{Name: paramFrom, Doc: "events of this time and later, as RFC 3339 has it"},
	{Name: paramTo, Doc: "events of this time and earlier"},
	{Name: paramActor, Doc: "the actor's id"},
	{Name: paramAction, Doc: "an event's type, or its leading segments and .*: role.created, role.*, scim.user.*"},
	{Name: paramTarget, Doc: "TYPE/ID of the target: role/admin"},
	{Name: paramOrder, Kind: httpapi.Enum, Values: []string{newestFirst, oldestFirst}, Doc: "desc, the newest first, or asc"},
}

// filter is what of a log a call asks for.
type filter struct {
	span   trail.Span
	actor  string
	action webhook.Filter // none: every type
	target *events.Target
	order  string
	asked  []string // the parameters as they were given, to bind cursors to
}

func readFilter(c *httpapi.Call) (filter, error) {
	f := filter{order: newestFirst}
	for _, p := range filterParams {
		v, given := c.Query(p.Name)
		f.asked = append(f.asked, v)
		if !given {
			continue
		}
		if err := f.set(p.Name, v); err != nil {
			return f, err
		}
	}
	if s := f.span; !s.From.IsZero() && !s.To.IsZero() && s.To.Before(s.From) {
		return f, fault.InField(fault.Invalid, paramTo, "must not be before from")
	}
	return f, nil
}

func (f *filter) set(name, v string) error {
	switch name {
	case paramFrom, paramTo:
		var t instant.Time
		if err := t.UnmarshalText([]byte(v)); err != nil {
			return fault.InField(fault.Invalid, name, "%s", err)
		}
		at, _ := t.Get()
		if name == paramFrom {
			f.span.From = at
		} else {
			f.span.To = at
		}
	case paramActor:
		f.actor = v
	case paramAction:
		if body := strings.TrimSuffix(v, ".*"); v != "*" && (body == "" || strings.ContainsAny(body, "*/ ")) {
			return fault.InField(fault.Invalid, name, "must be a type of events, or leading segments and .*")
		}
		f.action = webhook.Filter{v}
	case paramTarget:
		kind, id, ok := strings.Cut(v, "/")
		if !ok || kind == "" || id == "" {
			return fault.InField(fault.Invalid, name, "must be TYPE/ID")
		}
		f.target = &events.Target{Type: kind, ID: id}
	case paramOrder:
		f.order = v
	}
	return nil
}

// narrow says whether most events may fall through the filter.
func (f *filter) narrow() bool { return f.actor != "" || f.action != nil || f.target != nil }

// matches says whether the call asks for the event.
func (f *filter) matches(e *events.Event) bool {
	if f.actor != "" && e.Actor.ID != f.actor || f.target != nil && e.Target != *f.target || f.action != nil && !f.action.Matches(e.Type) {
		return false
	}
	if f.span == (trail.Span{}) {
		return true
	}
	at, err := time.Parse(time.RFC3339Nano, e.Time)
	return err == nil && !at.Before(f.span.From) && (f.span.To.IsZero() || !at.After(f.span.To))
}

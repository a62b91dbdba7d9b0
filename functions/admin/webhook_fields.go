package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/httpapi/wire"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/webhook"
	"github.com/wardenhq/warden/shared/write"
)

const (
	// maxRate is the highest rate_limit: above, a limit says nothing.
	maxRate = 1000
	// lookUpTime bounds looking up a webhook's host, which is early feedback only.
	lookUpTime = 2 * time.Second
)

// target refuses a URL that no delivery would be sent to. A host that can't be
// looked up now is accepted: every attempt judges it anew.
func (a *api) target(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, lookUpTime)
	defer cancel()
	var refused *egress.RefusedError
	if errors.As(a.targets.Resolve(ctx, url), &refused) {
		return fault.InField(fault.WebhookTargetRefused, "url", "%s", refused.Detail)
	}
	return nil
}

// filter holds a filter to the types of events there are.
func (f *fields) filter(events webhook.Filter) {
	var wrong *webhook.FilterError
	if err := events.Validate(eventTypes()); errors.As(err, &wrong) {
		field := "events"
		if wrong.Index >= 0 {
			field = fmt.Sprintf("events[%d]", wrong.Index)
		}
		f.refuse(fault.Invalid, field, "%s", wrong.Problem)
	}
}

func eventTypes() []string {
	types := events.Types()
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	return names
}

// headers holds a webhook's own headers to what it may send, and returns them
// under their canonical names.
func (f *fields) headers(given map[string]string) map[string]string {
	var wrong *webhook.HeaderError
	if err := webhook.ValidateHeaders(given); errors.As(err, &wrong) {
		field := "headers"
		if wrong.Name != "" {
			field += "." + wrong.Name
		}
		f.refuse(fault.Invalid, field, "%s", wrong.Problem)
	}
	canonical := make(map[string]string, len(given))
	for name, value := range given {
		canonical[textproto.CanonicalMIMEHeaderKey(name)] = value
	}
	return canonical
}

// setHeaders gives a webhook its own headers. The same ones are not sealed anew,
// so that nothing changes.
func (a *api) setHeaders(ctx context.Context, hook *entity.Webhook, headers map[string]string) error {
	old, err := a.vault.OpenHeaders(ctx, *hook)
	if err != nil || maps.Equal(old, headers) {
		return err
	}
	hook.HeaderNames = slices.Sorted(maps.Keys(headers))
	hook.Headers, err = a.vault.SealHeaders(ctx, hook.Scope, hook.ID, headers)
	return err
}

// patchWebhook is a merge patch: null removes a description, a limit, a header,
// or all headers.
type patchWebhook struct {
	URL         wire.Optional[string]             `json:"url,omitzero"`
	Events      wire.Optional[webhook.Filter]     `json:"events,omitzero"`
	Description wire.Optional[string]             `json:"description,omitzero"`
	Headers     wire.Optional[map[string]*string] `json:"headers,omitzero"`
	RateLimit   wire.Optional[int]                `json:"rate_limit,omitzero"`
}

func (p patchWebhook) check() error {
	var f fields
	if p.URL.IsNull() {
		f.refuse(fault.Invalid, "url", "a webhook has a URL")
	}
	if p.Events.IsNull() {
		f.refuse(fault.Invalid, "events", "a webhook has events")
	}
	if filter, ok := p.Events.Get(); ok {
		f.filter(filter)
	}
	if text, ok := p.Description.Get(); ok {
		f.description(text)
	}
	if rate, ok := p.RateLimit.Get(); ok {
		f.within("rate_limit", rate, maxRate)
	}
	if headers, ok := p.Headers.Get(); ok {
		f.headers(given(headers))
	}
	return f.err()
}

// given are the headers of a patch that have values.
func given(headers map[string]*string) map[string]string {
	out := make(map[string]string, len(headers))
	for name, value := range headers {
		if value != nil {
			out[name] = *value
		}
	}
	return out
}

func (a *api) updateWebhook(ctx context.Context, c *httpapi.Call, s write.Scope, body patchWebhook) (httpapi.Reply[resource.Webhook], error) {
	none := httpapi.Reply[resource.Webhook]{}
	id, err := webhookID(c)
	if err != nil {
		return none, err
	}
	if err := body.check(); err != nil {
		return none, err
	}
	if url, ok := body.URL.Get(); ok {
		if err := a.target(ctx, url); err != nil {
			return none, err
		}
	}
	out, err := a.writer.UpdateWebhook(ctx, a.request(c), s, id, c.CheckPreconditions, func(hook *entity.Webhook) error {
		body.URL.Merge(&hook.URL)
		body.Events.Merge(&hook.Events)
		body.Description.Merge(&hook.Description)
		body.RateLimit.Merge(&hook.RateLimit)
		return a.mergeHeaders(ctx, hook, body.Headers)
	})
	if err != nil {
		return none, err
	}
	return changed(out, resource.OfWebhook)
}

// mergeHeaders carries a merge patch of headers out.
func (a *api) mergeHeaders(ctx context.Context, hook *entity.Webhook, patch wire.Optional[map[string]*string]) error {
	if patch.IsNull() {
		return a.setHeaders(ctx, hook, nil)
	}
	change, ok := patch.Get()
	if !ok {
		return nil
	}
	merged, err := a.vault.OpenHeaders(ctx, *hook)
	if err != nil {
		return err
	}
	merged = maps.Clone(merged)
	if merged == nil {
		merged = make(map[string]string, len(change))
	}
	for name, value := range change {
		if name = textproto.CanonicalMIMEHeaderKey(name); value == nil {
			delete(merged, name)
		} else {
			merged[name] = *value
		}
	}
	var f fields
	f.headers(merged)
	if err := f.err(); err != nil {
		return err
	}
	return a.setHeaders(ctx, hook, merged)
}

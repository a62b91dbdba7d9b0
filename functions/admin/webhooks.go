package admin

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/webhook"
	"github.com/wardenhq/warden/shared/write"
)

const (
	// hooks is the permission of all routes of webhooks.
	hooks = httpapi.Permission(entity.RightWebhooks)

	webhooksPath = "/v1/scopes/{scope}/webhooks"
	webhookPath  = webhooksPath + "/{webhook}"

	maxSecretOverlap = 7 * day
)

func (a *api) webhooks() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Bind(httpapi.Route{
			Name: "webhooks.create", Summary: "Register an endpoint for events; its secret is shown once",
			Method: http.MethodPost, Pattern: webhooksPath, Permission: hooks,
			Success: []int{http.StatusCreated}, Creates: true, ShowsSecret: true,
			Errors: []fault.Code{fault.LimitExceeded, fault.WebhookTargetRefused},
		}, inScope(a, a.createWebhook)),
		httpapi.Bind(httpapi.Route{
			Name: "webhooks.list", Summary: "List the webhooks of a scope",
			Method: http.MethodGet, Pattern: webhooksPath, Permission: hooks,
			Success: []int{http.StatusOK}, List: true,
		}, inScope(a, a.listWebhooks)),
		httpapi.Bind(httpapi.Route{
			Name: "webhooks.get", Summary: "Show a webhook, without its secret",
			Method: http.MethodGet, Pattern: webhookPath, Permission: hooks,
			Success: []int{http.StatusOK}, Versioned: true,
		}, inScope(a, a.getWebhook)),
		httpapi.Bind(httpapi.Route{
			Name: "webhooks.update", Summary: "Change where a webhook is, what it is sent and how",
			Method: http.MethodPatch, Pattern: webhookPath, Permission: hooks,
			Success: []int{http.StatusOK}, Versioned: true,
			Errors: []fault.Code{fault.LimitExceeded, fault.WebhookTargetRefused},
		}, inScope(a, a.updateWebhook)),
		httpapi.Bind(httpapi.Route{
			Name: "webhooks.delete", Summary: "Delete a webhook; what is on its way to it is cancelled",
			Method: http.MethodDelete, Pattern: webhookPath, Permission: hooks,
			Success: []int{http.StatusNoContent}, Versioned: true,
		}, inScope(a, a.deleteWebhook)),
		httpapi.Bind(httpapi.Route{
			Name: "webhooks.rotate_secret", Summary: "Give a webhook a new secret; the old one signs too for a while",
			Method: http.MethodPost, Pattern: webhookPath + "/rotate-secret", Permission: hooks,
			Success: []int{http.StatusOK}, Creates: true, ShowsSecret: true, Versioned: true, BodyOptional: true,
		}, inScope(a, a.rotateSecret)),
		httpapi.Bind(httpapi.Route{
			Name: "webhooks.enable", Summary: "Let a webhook be sent events again",
			Method: http.MethodPost, Pattern: webhookPath + "/enable", Permission: hooks,
			Success: []int{http.StatusOK}, Versioned: true,
		}, inScope(a, a.enableWebhook)),
		httpapi.Bind(httpapi.Route{
			Name: "webhooks.disable", Summary: "Stop what is sent to a webhook; what it misses can be recovered",
			Method: http.MethodPost, Pattern: webhookPath + "/disable", Permission: hooks,
			Success: []int{http.StatusOK}, Versioned: true,
		}, inScope(a, a.disableWebhook)),
	}
}

type newWebhook struct {
	URL         string            `json:"url"`
	Events      webhook.Filter    `json:"events"`
	Description string            `json:"description,omitzero"`
	Headers     map[string]string `json:"headers,omitzero"`
	RateLimit   *int              `json:"rate_limit"`
}

// webhookWithSecret is a webhook with its secret, which is shown once.
type webhookWithSecret struct {
	resource.Webhook
	Secret string `json:"secret"`
}

func (a *api) createWebhook(ctx context.Context, c *httpapi.Call, s write.Scope, body newWebhook) (httpapi.Reply[webhookWithSecret], error) {
	none := httpapi.Reply[webhookWithSecret]{}
	var f fields
	f.filter(body.Events)
	f.description(body.Description)
	headers := f.headers(body.Headers)
	hook := entity.Webhook{
		ID: newWebhookID(), Org: s.Org, Scope: s.ID, URL: body.URL, Events: body.Events, Description: body.Description,
	}
	if body.RateLimit != nil {
		f.within("rate_limit", *body.RateLimit, maxRate)
		hook.RateLimit = *body.RateLimit
	}
	if err := f.err(); err != nil {
		return none, err
	}
	if err := a.target(ctx, body.URL); err != nil {
		return none, err
	}
	if err := a.setHeaders(ctx, &hook, headers); err != nil {
		return none, err
	}
	secret, sealed, err := a.newSecret(ctx, s, hook.ID)
	if err != nil {
		return none, err
	}
	hook.Secret = sealed
	return create(ctx, a, c, change[webhookWithSecret]{
		make: func(req *write.Request) (write.Outcome, error) { return a.writer.CreateWebhook(ctx, req, s, hook) },
		answer: func(out write.Outcome) (httpapi.Reply[webhookWithSecret], error) {
			reply, err := shownSecret(out, secret)
			reply.Location = path("scopes", s.ID.String(), "webhooks", hook.ID.String())
			return reply, err
		},
	})
}

func newWebhookID() rbac.WebhookID {
	return rbac.Must(rbac.ParseWebhookID("wh_" + strings.ToLower(rand.Text())))
}

func (a *api) newSecret(ctx context.Context, s write.Scope, id rbac.WebhookID) (webhook.Secret, []byte, error) {
	secret, err := webhook.NewSecret(rand.Reader)
	if err != nil {
		return secret, nil, err
	}
	sealed, err := a.vault.SealSecret(ctx, s.ID, id, secret)
	return secret, sealed, err
}

func shownSecret(out write.Outcome, secret webhook.Secret) (httpapi.Reply[webhookWithSecret], error) {
	return changed(out, func(it *table.Item, e entity.Webhook) webhookWithSecret {
		return webhookWithSecret{resource.OfWebhook(it, e), secret.Reveal()}
	})
}

func webhookID(c *httpapi.Call) (rbac.WebhookID, error) {
	return httpapi.ParamID(c, "webhook", rbac.ParseWebhookID)
}

func (a *api) listWebhooks(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.Page[resource.Webhook]], error) {
	return list(ctx, a, c, keys.Webhooks(s.Org, s.ID), always, resource.OfWebhook)
}

func (a *api) getWebhook(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[resource.Webhook], error) {
	id, err := webhookID(c)
	if err != nil {
		return httpapi.Reply[resource.Webhook]{}, err
	}
	return one(ctx, a, keys.Webhook(s.Org, s.ID, id), write.ErrNoWebhook, always, resource.OfWebhook)
}

func (a *api) deleteWebhook(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.None], error) {
	id, err := webhookID(c)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	out, err := a.writer.DeleteWebhook(ctx, a.request(c), s, id, c.CheckPreconditions)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	return deleted(out), nil
}

type rotateSecret struct {
	Overlap *duration `json:"overlap"`
}

func (r rotateSecret) overlap() (time.Duration, error) {
	if r.Overlap == nil {
		return defaultOverlap, nil
	}
	if r.Overlap.Duration > maxSecretOverlap {
		return 0, fault.InField(fault.Invalid, "overlap", "must be at most %dd", maxSecretOverlap/day)
	}
	return r.Overlap.Duration, nil
}

func (a *api) rotateSecret(ctx context.Context, c *httpapi.Call, s write.Scope, body rotateSecret) (httpapi.Reply[webhookWithSecret], error) {
	none := httpapi.Reply[webhookWithSecret]{}
	id, err := webhookID(c)
	if err != nil {
		return none, err
	}
	overlap, err := body.overlap()
	if err != nil {
		return none, err
	}
	secret, sealed, err := a.newSecret(ctx, s, id)
	if err != nil {
		return none, err
	}
	return create(ctx, a, c, change[webhookWithSecret]{
		make: func(req *write.Request) (write.Outcome, error) {
			return a.writer.RotateWebhookSecret(ctx, req, s, id, sealed, overlap, c.CheckPreconditions)
		},
		answer: func(out write.Outcome) (httpapi.Reply[webhookWithSecret], error) { return shownSecret(out, secret) },
	})
}

func (a *api) enableWebhook(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[resource.Webhook], error) {
	return a.switched(c, func(id rbac.WebhookID) (write.Outcome, error) {
		return a.writer.EnableWebhook(ctx, a.request(c), s, id, c.CheckPreconditions)
	})
}

func (a *api) disableWebhook(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[resource.Webhook], error) {
	return a.switched(c, func(id rbac.WebhookID) (write.Outcome, error) {
		return a.writer.DisableWebhook(ctx, a.request(c), s, id, entity.DisabledByRequest, c.CheckPreconditions)
	})
}

func (a *api) switched(c *httpapi.Call, do func(rbac.WebhookID) (write.Outcome, error)) (httpapi.Reply[resource.Webhook], error) {
	id, err := webhookID(c)
	if err != nil {
		return httpapi.Reply[resource.Webhook]{}, err
	}
	out, err := do(id)
	if err != nil {
		return httpapi.Reply[resource.Webhook]{}, err
	}
	return changed(out, resource.OfWebhook)
}

// Package admin is the administration API: orgs, scopes, permissions, roles,
// policies, API keys and webhooks over HTTP.
//
// Each route is declared once, beside its handler, and New puts all of them
// behind one edge (package httpapi). A handler takes a checked call, asks
// package write for the change or package stored for what is there, and shows
// it in the forms of package resource. What is beyond the caller's reach is
// answered as what does not exist, by the same code.
package admin

import (
	"context"
	"log/slog"
	"slices"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/write"
)

// Config is what the function works with.
type Config struct {
	Table  table.Reader
	Writer *write.Writer
	Clock  clock.Clock
	Auth   *auth.Authenticator
	Log    *slog.Logger

	Vault      delivery.Vault // of webhooks' secrets
	Targets    Targets        // where webhooks may lead
	Deliveries queue.Sender   // the queue of deliveries

	Engine *recompute.Engine // verifies and mends documents

	// More are routes of others under the same edge: the audit log's.
	More []httpapi.Endpoint
}

// Targets judges where webhooks lead; egress.Guard does.
type Targets interface {
	// Resolve refuses a URL with an *egress.RefusedError. Other errors say that its
	// host can't be looked up now.
	Resolve(ctx context.Context, url string) error
}

// api is the function's handlers.
type api struct {
	table  table.Reader
	writer *write.Writer
	clock  clock.Clock

	vault      delivery.Vault
	targets    Targets
	deliveries queue.Sender
	engine     *recompute.Engine
}

// New is the function's handler. An error is a defect of its declarations.
func New(c Config) (*httpapi.Router, error) {
	a := &api{table: c.Table, writer: c.Writer, clock: c.Clock, vault: c.Vault, targets: c.Targets, deliveries: c.Deliveries, engine: c.Engine}
	edge := httpapi.Config{
		Authenticate: func(ctx context.Context, bearer string) (httpapi.Principal, error) {
			return c.Auth.Authenticate(ctx, bearer)
		},
		Authorize: authorize,
		Log:       c.Log,
	}
	all := slices.Clone(c.More)
	for _, part := range [][]httpapi.Endpoint{a.orgs(), a.scopes(), a.permissions(), a.roles(), a.policies(), a.subjects(), a.apiKeys(), a.webhooks(), a.webhookDeliveries(), a.verification()} {
		all = append(all, part...)
	}
	return httpapi.NewRouter(edge, all...)
}

package admin

import (
	"context"
	"net/http"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/httpapi/wire"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

func (a *api) scopes() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Bind(httpapi.Route{
			Name: "scopes.create", Summary: "Make an empty scope",
			Method: http.MethodPost, Pattern: "/v1/orgs/{org}/scopes", Permission: writes,
			Success: []int{http.StatusCreated}, Creates: true,
			Errors: []fault.Code{fault.AlreadyExists, fault.BeingDeleted, fault.LimitExceeded},
		}, inOrg(a.createScope)),
		httpapi.Bind(httpapi.Route{
			Name: "scopes.list", Summary: "List the scopes of an org that the key reaches",
			Method: http.MethodGet, Pattern: "/v1/orgs/{org}/scopes", Permission: reads,
			Success: []int{http.StatusOK}, List: true,
		}, inOrg(a.listScopes)),
		httpapi.Bind(httpapi.Route{
			Name: "scopes.get", Summary: "Show a scope, its revision and pending recomputations",
			Method: http.MethodGet, Pattern: "/v1/scopes/{scope}", Permission: reads,
			Success: []int{http.StatusOK}, Versioned: true,
		}, inScope(a, a.getScope)),
		httpapi.Bind(httpapi.Route{
			Name: "scopes.update", Summary: "Change a scope's name and description",
			Method: http.MethodPatch, Pattern: "/v1/scopes/{scope}", Permission: writes,
			Success: []int{http.StatusOK}, Versioned: true,
			Errors: []fault.Code{fault.LimitExceeded},
		}, inScope(a, a.updateScope)),
		httpapi.Bind(httpapi.Route{
			Name: "scopes.delete", Summary: "Delete a scope",
			Method: http.MethodDelete, Pattern: "/v1/scopes/{scope}", Permission: writes,
			Success: []int{http.StatusNoContent}, Versioned: true, Query: []httpapi.QueryParam{cascade},
			Errors: []fault.Code{fault.InUse},
		}, inScope(a, a.deleteScope)),
	}
}

type newScope struct {
	ID          rbac.ScopeID `json:"id"`
	Name        string       `json:"name"`
	Description string       `json:"description,omitzero"`
}

func (a *api) createScope(ctx context.Context, c *httpapi.Call, o rbac.OrgID, body newScope) (httpapi.Reply[resource.Scope], error) {
	var f fields
	f.name("name", body.Name)
	f.description(body.Description)
	if err := f.err(); err != nil {
		return httpapi.Reply[resource.Scope]{}, err
	}
	if err := wholeOrg(c); err != nil {
		return httpapi.Reply[resource.Scope]{}, err
	}
	return create(ctx, a, c, change[resource.Scope]{
		make: func(req *write.Request) (write.Outcome, error) {
			return a.writer.CreateScope(ctx, req, entity.Scope{ID: body.ID, Org: o, Name: body.Name, Description: body.Description})
		},
		answer: func(out write.Outcome) (httpapi.Reply[resource.Scope], error) {
			reply, err := changed(out, resource.OfScope)
			reply.Location = path("scopes", body.ID.String())
			return reply, err
		},
	})
}

func (a *api) listScopes(ctx context.Context, c *httpapi.Call, o rbac.OrgID, _ httpapi.None) (httpapi.Reply[httpapi.Page[resource.Scope]], error) {
	if err := a.liveOrg(ctx, o); err != nil {
		return httpapi.Reply[httpapi.Page[resource.Scope]]{}, err
	}
	visible := func(s entity.Scope) bool { return !s.Deleting && caller(c).InScope(o, s.ID) }
	return list(ctx, a, c, keys.Scopes(o), visible, resource.OfScope)
}

// scopeState is a scope with what HEAD tells of it.
type scopeState struct {
	resource.Scope
	Revision string `json:"revision"`               // for at_least
	Pending  int    `json:"pending_recomputations"` // changes whose documents have not all caught up
}

func (a *api) getScope(ctx context.Context, _ *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[scopeState], error) {
	items, err := a.table.BatchGet(ctx, []keys.Raw{keys.Scope(s.Org, s.ID).Raw(), keys.Head(s.ID).Raw()}, table.Strong)
	if err != nil {
		return httpapi.Reply[scopeState]{}, err
	}
	if items[0] == nil || items[1] == nil {
		return httpapi.Reply[scopeState]{}, write.ErrNoScope
	}
	e, err := stored.Decode[entity.Scope](items[0])
	if err != nil {
		return httpapi.Reply[scopeState]{}, err
	}
	h, err := head.Decode(items[1])
	if err != nil {
		return httpapi.Reply[scopeState]{}, err
	}
	pending, err := recompute.Pending(ctx, a.table, s.ID, h)
	if err != nil {
		return httpapi.Reply[scopeState]{}, err
	}
	state := scopeState{resource.OfScope(items[0], e), revision.OfDefinition(s.ID, h.Revision).String(), pending}
	return httpapi.Reply[scopeState]{Body: state, Version: state.At()}, nil
}

// patchScope is a merge patch: a null description is removed.
type patchScope struct {
	Name        wire.Optional[string] `json:"name,omitzero"`
	Description wire.Optional[string] `json:"description,omitzero"`
}

func (p patchScope) check() error {
	var f fields
	if name, ok := p.Name.Get(); ok {
		f.name("name", name)
	}
	if p.Name.IsNull() {
		f.refuse(fault.Invalid, "name", "a scope has a name")
	}
	if text, ok := p.Description.Get(); ok {
		f.description(text)
	}
	return f.err()
}

func (a *api) updateScope(ctx context.Context, c *httpapi.Call, s write.Scope, body patchScope) (httpapi.Reply[resource.Scope], error) {
	if err := body.check(); err != nil {
		return httpapi.Reply[resource.Scope]{}, err
	}
	out, err := a.writer.UpdateScope(ctx, a.request(c), s, c.CheckPreconditions, func(e *entity.Scope) error {
		body.Name.Merge(&e.Name)
		body.Description.Merge(&e.Description)
		return nil
	})
	if err != nil {
		return httpapi.Reply[resource.Scope]{}, err
	}
	return changed(out, resource.OfScope)
}

func (a *api) deleteScope(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.None], error) {
	out, err := a.writer.DeleteScope(ctx, a.request(c), s, c.CheckPreconditions, c.Flag(cascade.Name))
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	return deleted(out), nil
}

package admin

import (
	"context"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

// The permissions of routes, by the rights of keys.
const (
	reads  = httpapi.Permission(entity.RightAdminRead)
	writes = httpapi.Permission(entity.RightAdminWrite)
)

// caller is who calls; every route of this function is authenticated.
func caller(c *httpapi.Call) auth.Principal {
	p, ok := c.Principal().(auth.Principal)
	if !ok {
		panic("admin: " + c.Route().Name + " is called by nobody")
	}
	return p
}

// authorize says whether the caller has the right that the route needs. What it
// may reach with it, the handler's wrapper says.
func authorize(_ context.Context, c *httpapi.Call) error {
	p := caller(c)
	switch need := c.Route().Permission; {
	case need == httpapi.OperatorOnly && !p.Operator():
		return fault.New(fault.Forbidden, "only an operator key may do this")
	case need != httpapi.OperatorOnly && !p.May(entity.Right(need)):
		return fault.New(fault.Forbidden, "the key lacks the permission %s", need)
	}
	return nil
}

// inScope resolves {scope} for a handler. A scope that is missing, deleted,
// another org's or not among the key's is write.ErrNoScope, whichever it is.
func inScope[Req, Resp any](a *api, handle func(context.Context, *httpapi.Call, write.Scope, Req) (httpapi.Reply[Resp], error)) func(context.Context, *httpapi.Call, Req) (httpapi.Reply[Resp], error) {
	return func(ctx context.Context, c *httpapi.Call, req Req) (httpapi.Reply[Resp], error) {
		id, err := httpapi.ParamID(c, "scope", rbac.ParseScopeID)
		if err != nil {
			return httpapi.Reply[Resp]{}, err
		}
		h, err := a.head(ctx, id)
		if err != nil {
			return httpapi.Reply[Resp]{}, err
		}
		if h == nil || h.Deleted || !caller(c).InScope(h.Org, id) {
			return httpapi.Reply[Resp]{}, write.ErrNoScope
		}
		return handle(ctx, c, write.Scope{Org: h.Org, ID: id, Incarnation: h.Incarnation}, req)
	}
}

func (a *api) head(ctx context.Context, s rbac.ScopeID) (*head.Head, error) {
	it, err := a.table.Get(ctx, keys.Head(s).Raw(), table.Strong)
	if err != nil || it == nil {
		return nil, err
	}
	return head.Decode(it)
}

// inOrg resolves {org} for a handler. An org beyond the caller's reach is
// write.ErrNoOrg; whether it exists, the handler finds out.
func inOrg[Req, Resp any](handle func(context.Context, *httpapi.Call, rbac.OrgID, Req) (httpapi.Reply[Resp], error)) func(context.Context, *httpapi.Call, Req) (httpapi.Reply[Resp], error) {
	return func(ctx context.Context, c *httpapi.Call, req Req) (httpapi.Reply[Resp], error) {
		id, err := httpapi.ParamID(c, "org", rbac.ParseOrgID)
		if err != nil {
			return httpapi.Reply[Resp]{}, err
		}
		if !caller(c).InOrg(id) {
			return httpapi.Reply[Resp]{}, write.ErrNoOrg
		}
		return handle(ctx, c, id, req)
	}
}

// liveOrg is write.ErrNoOrg unless the org is there and not being deleted.
func (a *api) liveOrg(ctx context.Context, o rbac.OrgID) error {
	e, it, err := stored.Get(ctx, a.table, keys.Org(o), table.Strong)
	if err == nil && (it == nil || !orgAlive(e)) {
		err = write.ErrNoOrg
	}
	return err
}

// wholeOrg refuses a change of the org itself to a key that reaches only some of
// its scopes.
func wholeOrg(c *httpapi.Call) error {
	if !caller(c).EveryScope() {
		return fault.New(fault.Forbidden, "the key is limited to scopes, and this concerns the whole org")
	}
	return nil
}

// request is the change that a call asks for.
func (a *api) request(c *httpapi.Call) *write.Request {
	return a.writer.NewRequest(write.Origin{
		Actor: caller(c).Actor(), OnBehalfOf: c.OnBehalfOf(), RequestID: c.RequestID(), SourceIP: c.Source(),
	})
}

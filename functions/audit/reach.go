package audit

import (
	"context"

	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// What is beyond the caller's reach answers as what does not exist.
var (
	errNoScope = fault.New(fault.NotFound, "no such scope")
	errNoOrg   = fault.New(fault.NotFound, "no such org")
)

// caller is who calls; every route of this function is authenticated.
func caller(c *httpapi.Call) auth.Principal {
	p, ok := c.Principal().(auth.Principal)
	if !ok {
		panic("audit: " + c.Route().Name + " is called by nobody")
	}
	return p
}

// scopeOf resolves {scope}: errNoScope for one that is missing, deleted, another
// org's or not among the key's. The log of a deleted scope is in its org's.
func (a *Audit) scopeOf(ctx context.Context, c *httpapi.Call) (trail.ID, error) {
	s, err := httpapi.ParamID(c, "scope", rbac.ParseScopeID)
	if err != nil {
		return trail.ID{}, err
	}
	h, err := a.head(ctx, s)
	if err != nil {
		return trail.ID{}, err
	}
	if h == nil || h.Deleted || !caller(c).InScope(h.Org, s) {
		return trail.ID{}, errNoScope
	}
	return trail.ID{Org: h.Org, Scope: s}, nil
}

// orgOf resolves {org}. A key that is limited to scopes sees nothing of the whole
// org's log.
func (a *Audit) orgOf(ctx context.Context, c *httpapi.Call) (entity.Org, *table.Item, error) {
	o, err := httpapi.ParamID(c, "org", rbac.ParseOrgID)
	if err != nil {
		return entity.Org{}, nil, err
	}
	if !caller(c).InOrg(o) {
		return entity.Org{}, nil, errNoOrg
	}
	if !caller(c).EveryScope() {
		return entity.Org{}, nil, fault.New(fault.Forbidden, "the key is limited to scopes, and this is the log of the whole org")
	}
	org, it, err := stored.Get(ctx, a.Table, keys.Org(o), table.Strong)
	if err == nil && it == nil {
		err = errNoOrg
	}
	return org, it, err
}

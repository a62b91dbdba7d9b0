package admin

import (
	"context"
	"net/http"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

func (a *api) policies() []httpapi.Endpoint {
	const collection = "/v1/scopes/{scope}/policies"
	return []httpapi.Endpoint{
		httpapi.Bind(httpapi.Route{
			Name: "policies.put", Summary: "Create or replace a subject's direct assignments",
			Method: http.MethodPut, Pattern: collection + "/{subject}", Permission: writes,
			Success: []int{http.StatusOK, http.StatusCreated}, Versioned: true,
			Errors: []fault.Code{fault.LimitExceeded, fault.UnknownReference},
		}, inScope(a, a.putPolicy)),
		httpapi.Bind(httpapi.Route{
			Name: "policies.get", Summary: "Show what a subject is assigned, from all sources",
			Method: http.MethodGet, Pattern: collection + "/{subject}", Permission: reads,
			Success: []int{http.StatusOK}, Versioned: true,
		}, inScope(a, a.getPolicy)),
		httpapi.Bind(httpapi.Route{
			Name: "policies.delete", Summary: "Delete a subject's direct assignments",
			Method: http.MethodDelete, Pattern: collection + "/{subject}", Permission: writes,
			Success: []int{http.StatusNoContent}, Versioned: true,
		}, inScope(a, a.deletePolicy)),
		httpapi.Bind(httpapi.Route{
			Name: "policies.list", Summary: "List the policies of a scope",
			Method: http.MethodGet, Pattern: collection, Permission: reads,
			Success: []int{http.StatusOK}, List: true,
		}, inScope(a, a.listPolicies)),
		httpapi.Bind(httpapi.Route{
			Name: "policies.roles.assign", Summary: "Assign one role directly",
			Method: http.MethodPost, Pattern: collection + "/{subject}/roles", Permission: writes,
			Success: []int{http.StatusCreated, http.StatusOK}, Creates: true, Versioned: true,
			Errors: []fault.Code{fault.LimitExceeded, fault.UnknownReference},
		}, inScope(a, a.assignRole)),
		httpapi.Bind(httpapi.Route{
			Name: "policies.roles.revoke", Summary: "Take one direct assignment away",
			Method: http.MethodDelete, Pattern: collection + "/{subject}/roles/{role}", Permission: writes,
			Success: []int{http.StatusNoContent}, Versioned: true,
		}, inScope(a, a.revokeRole)),
		httpapi.Bind(httpapi.Route{
			Name: "policies.batch", Summary: "Create or replace the direct assignments of up to 100 subjects",
			Method: http.MethodPost, Pattern: collection + "/batch", Permission: writes,
			Success: []int{http.StatusOK}, Creates: true,
			Errors: []fault.Code{fault.LimitExceeded},
		}, inScope(a, a.batchPolicies)),
	}
}

// grant is a role to be held, and until when.
type grant struct {
	Role      rbac.RoleID  `json:"role"`
	ExpiresAt instant.Time `json:"expires_at,omitzero"`
}

func (g grant) write() write.Grant {
	w := write.Grant{Role: g.Role}
	if end, ok := g.ExpiresAt.Get(); ok {
		w.Expiry = rbac.ExpiresAt(end)
	}
	return w
}

// grants are the direct assignments of one subject.
type grants []grant

// check holds them to the contract; at is what stands before `roles` in the
// names of fields.
func (gs grants) check(f *fields, at string) {
	ids := make([]rbac.RoleID, len(gs))
	for i, g := range gs {
		ids[i] = g.Role
	}
	f.atMost(at+"roles", len(gs), rbac.MaxRolesPerPolicy, "roles")
	once(f, at+"roles", ".role", ids)
}

func (gs grants) write() []write.Grant {
	out := make([]write.Grant, len(gs))
	for i, g := range gs {
		out[i] = g.write()
	}
	return out
}

type putPolicy struct {
	Roles grants `json:"roles"`
}

func (a *api) putPolicy(ctx context.Context, c *httpapi.Call, s write.Scope, body putPolicy) (httpapi.Reply[resource.Policy], error) {
	subject, err := httpapi.ParamID(c, "subject", rbac.ParseSubjectID)
	if err != nil {
		return httpapi.Reply[resource.Policy]{}, err
	}
	var f fields
	body.Roles.check(&f, "")
	if err := f.err(); err != nil {
		return httpapi.Reply[resource.Policy]{}, err
	}
	out, err := a.writer.PutPolicy(ctx, a.request(c), s, subject, body.Roles.write(), c.CheckPreconditions)
	if err != nil {
		return httpapi.Reply[resource.Policy]{}, err
	}
	return changed(out, resource.OfPolicy)
}

func (a *api) getPolicy(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[resource.Policy], error) {
	subject, err := httpapi.ParamID(c, "subject", rbac.ParseSubjectID)
	if err != nil {
		return httpapi.Reply[resource.Policy]{}, err
	}
	return one(ctx, a, keys.Policy(s.ID, subject), write.ErrNoPolicy, always, resource.OfPolicy)
}

func (a *api) deletePolicy(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.None], error) {
	subject, err := httpapi.ParamID(c, "subject", rbac.ParseSubjectID)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	out, err := a.writer.DeletePolicy(ctx, a.request(c), s, subject, c.CheckPreconditions)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	return deleted(out), nil
}

func (a *api) listPolicies(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.Page[resource.Policy]], error) {
	return list(ctx, a, c, keys.Policies(s.ID), always, resource.OfPolicy)
}

// assignRole answers 201 when the subject did not hold the role directly, 200
// when it did.
func (a *api) assignRole(ctx context.Context, c *httpapi.Call, s write.Scope, body grant) (httpapi.Reply[resource.Policy], error) {
	subject, err := httpapi.ParamID(c, "subject", rbac.ParseSubjectID)
	if err != nil {
		return httpapi.Reply[resource.Policy]{}, err
	}
	return create(ctx, a, c, change[resource.Policy]{
		make: func(req *write.Request) (write.Outcome, error) {
			return a.writer.AssignRole(ctx, req, s, subject, body.write(), c.CheckPreconditions)
		},
		answer: func(out write.Outcome) (httpapi.Reply[resource.Policy], error) {
			reply, err := changed(out, resource.OfPolicy)
			if reply.Status = http.StatusCreated; out.Replaced {
				reply.Status = http.StatusOK
			}
			return reply, err
		},
	})
}

func (a *api) revokeRole(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.None], error) {
	subject, err := httpapi.ParamID(c, "subject", rbac.ParseSubjectID)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	role, err := httpapi.ParamID(c, "role", rbac.ParseRoleID)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	out, err := a.writer.RevokeRole(ctx, a.request(c), s, subject, role, c.CheckPreconditions)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	return deleted(out), nil
}

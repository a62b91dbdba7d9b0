package admin

import (
	"context"
	"net/http"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

func (a *api) roles() []httpapi.Endpoint {
	const collection = "/v1/scopes/{scope}/roles"
	return []httpapi.Endpoint{
		httpapi.Bind(httpapi.Route{
			Name: "roles.put", Summary: "Create or replace a role",
			Method: http.MethodPut, Pattern: collection + "/{role}", Permission: writes,
			Success: []int{http.StatusOK, http.StatusCreated}, Versioned: true,
			Errors: []fault.Code{fault.LimitExceeded, fault.UnknownReference, fault.RoleCycle},
		}, inScope(a, a.putRole)),
		httpapi.Bind(httpapi.Route{
			Name: "roles.get", Summary: "Show a role",
			Method: http.MethodGet, Pattern: collection + "/{role}", Permission: reads,
			Success: []int{http.StatusOK}, Versioned: true,
		}, inScope(a, a.getRole)),
		httpapi.Bind(httpapi.Route{
			Name: "roles.delete", Summary: "Delete a role that nobody holds and no role inherits",
			Method: http.MethodDelete, Pattern: collection + "/{role}", Permission: writes,
			Success: []int{http.StatusNoContent}, Versioned: true,
			Errors: []fault.Code{fault.InUse},
		}, inScope(a, a.deleteRole)),
		httpapi.Bind(httpapi.Route{
			Name: "roles.list", Summary: "List the roles of a scope",
			Method: http.MethodGet, Pattern: collection, Permission: reads,
			Success: []int{http.StatusOK}, List: true,
		}, inScope(a, a.listRoles)),
		httpapi.Bind(httpapi.Route{
			Name: "roles.subjects", Summary: "List the subjects that hold a role now",
			Method: http.MethodGet, Pattern: collection + "/{role}/subjects", Permission: reads,
			Success: []int{http.StatusOK}, List: true,
		}, inScope(a, a.roleSubjects)),
	}
}

// maxApprovers keeps a role, with all its other lists full, below the table's
// 400 KB an item.
const maxApprovers = 100

type putRole struct {
	Name              string              `json:"name,omitzero"`
	Description       string              `json:"description,omitzero"`
	Permissions       []rbac.PermissionID `json:"permissions"`
	Inherits          []rbac.RoleID       `json:"inherits,omitzero"`
	Approvers         []rbac.SubjectID    `json:"approvers,omitzero"`
	RequiredApprovals *int                `json:"required_approvals"`
}

func (p *putRole) check() error {
	var f fields
	f.optionalName("name", p.Name)
	f.description(p.Description)
	f.atMost("permissions", len(p.Permissions), rbac.MaxPermissionsPerRole, "permissions")
	f.atMost("inherits", len(p.Inherits), rbac.MaxInheritsPerRole, "roles")
	f.atMost("approvers", len(p.Approvers), maxApprovers, "subjects")
	once(&f, "permissions", "", p.Permissions)
	once(&f, "inherits", "", p.Inherits)
	once(&f, "approvers", "", p.Approvers)
	if p.RequiredApprovals != nil {
		f.within("required_approvals", *p.RequiredApprovals, maxApprovers)
	}
	return f.err()
}

func (p *putRole) role(id rbac.RoleID) write.Role {
	r := write.Role{
		ID: id, Name: p.Name, Description: p.Description,
		Permissions: p.Permissions, Inherits: p.Inherits, Approvers: p.Approvers, RequiredApprovals: 1,
	}
	if p.RequiredApprovals != nil {
		r.RequiredApprovals = *p.RequiredApprovals
	}
	return r
}

func (a *api) putRole(ctx context.Context, c *httpapi.Call, s write.Scope, body putRole) (httpapi.Reply[resource.Role], error) {
	id, err := httpapi.ParamID(c, "role", rbac.ParseRoleID)
	if err != nil {
		return httpapi.Reply[resource.Role]{}, err
	}
	if err := body.check(); err != nil {
		return httpapi.Reply[resource.Role]{}, err
	}
	out, err := a.writer.PutRole(ctx, a.request(c), s, body.role(id), c.CheckPreconditions)
	if err != nil {
		return httpapi.Reply[resource.Role]{}, err
	}
	return changed(out, resource.OfRole)
}

func roleAlive(e entity.Role) bool { return !e.Deleted }

func (a *api) getRole(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[resource.Role], error) {
	id, err := httpapi.ParamID(c, "role", rbac.ParseRoleID)
	if err != nil {
		return httpapi.Reply[resource.Role]{}, err
	}
	return one(ctx, a, keys.Role(s.ID, id), write.ErrNoRole, roleAlive, resource.OfRole)
}

func (a *api) deleteRole(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.None], error) {
	id, err := httpapi.ParamID(c, "role", rbac.ParseRoleID)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	out, err := a.writer.DeleteRole(ctx, a.request(c), s, id, c.CheckPreconditions)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	return deleted(out), nil
}

func (a *api) listRoles(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.Page[resource.Role]], error) {
	return list(ctx, a, c, keys.Roles(s.ID), roleAlive, resource.OfRole)
}

// roleSubjects lists who holds the role that lives: not who held one of this id
// before, and not whose assignment is over.
func (a *api) roleSubjects(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.Page[resource.RoleSubject]], error) {
	none := httpapi.Reply[httpapi.Page[resource.RoleSubject]]{}
	id, err := httpapi.ParamID(c, "role", rbac.ParseRoleID)
	if err != nil {
		return none, err
	}
	r, it, err := stored.Get(ctx, a.table, keys.Role(s.ID, id), table.Strong)
	switch {
	case err != nil:
		return none, err
	case it == nil || r.Deleted:
		return none, write.ErrNoRole
	}
	now := a.clock.Now()
	holds := func(m entity.RoleMember) bool {
		return m.Incarnation == r.Incarnation && (m.ExpiresAt == nil || now.Before(*m.ExpiresAt))
	}
	return list(ctx, a, c, keys.RoleMembers(s.ID, id), holds, func(_ *table.Item, m entity.RoleMember) resource.RoleSubject {
		return resource.OfRoleMember(m)
	})
}

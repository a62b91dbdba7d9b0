package admin

import (
	"context"
	"net/http"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

func (a *api) permissions() []httpapi.Endpoint {
	const collection = "/v1/scopes/{scope}/permissions"
	return []httpapi.Endpoint{
		httpapi.Bind(httpapi.Route{
			Name: "permissions.put", Summary: "Create or replace a permission",
			Method: http.MethodPut, Pattern: collection + "/{permission}", Permission: writes,
			Success: []int{http.StatusOK, http.StatusCreated}, Versioned: true,
			Errors: []fault.Code{fault.LimitExceeded},
		}, inScope(a, a.putPermission)),
		httpapi.Bind(httpapi.Route{
			Name: "permissions.get", Summary: "Show a permission",
			Method: http.MethodGet, Pattern: collection + "/{permission}", Permission: reads,
			Success: []int{http.StatusOK}, Versioned: true,
		}, inScope(a, a.getPermission)),
		httpapi.Bind(httpapi.Route{
			Name: "permissions.delete", Summary: "Delete a permission that no role has",
			Method: http.MethodDelete, Pattern: collection + "/{permission}", Permission: writes,
			Success: []int{http.StatusNoContent}, Versioned: true,
			Errors: []fault.Code{fault.InUse},
		}, inScope(a, a.deletePermission)),
		httpapi.Bind(httpapi.Route{
			Name: "permissions.list", Summary: "List the permissions of a scope",
			Method: http.MethodGet, Pattern: collection, Permission: reads,
			Success: []int{http.StatusOK}, List: true,
		}, inScope(a, a.listPermissions)),
	}
}

type putPermission struct {
	Resource    rbac.ResourceID `json:"resource"`
	Action      rbac.ActionID   `json:"action"`
	Effect      rbac.Effect     `json:"effect"`
	Description string          `json:"description,omitzero"`
}

func (a *api) putPermission(ctx context.Context, c *httpapi.Call, s write.Scope, body putPermission) (httpapi.Reply[resource.Permission], error) {
	id, err := httpapi.ParamID(c, "permission", rbac.ParsePermissionID)
	if err != nil {
		return httpapi.Reply[resource.Permission]{}, err
	}
	var f fields
	f.description(body.Description)
	if body.Effect != rbac.Allow && body.Effect != rbac.Deny {
		f.refuse(fault.Invalid, "effect", "must be %q or %q", rbac.Allow, rbac.Deny)
	}
	if err := f.err(); err != nil {
		return httpapi.Reply[resource.Permission]{}, err
	}
	out, err := a.writer.PutPermission(ctx, a.request(c), s, entity.Permission{
		Permission:  rbac.Permission{ID: id, Resource: body.Resource, Action: body.Action, Effect: body.Effect},
		Description: body.Description,
	}, c.CheckPreconditions)
	if err != nil {
		return httpapi.Reply[resource.Permission]{}, err
	}
	return changed(out, resource.OfPermission)
}

func permissionAlive(e entity.Permission) bool { return !e.Deleted }

func (a *api) getPermission(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[resource.Permission], error) {
	id, err := httpapi.ParamID(c, "permission", rbac.ParsePermissionID)
	if err != nil {
		return httpapi.Reply[resource.Permission]{}, err
	}
	return one(ctx, a, keys.Permission(s.ID, id), write.ErrNoPermission, permissionAlive, resource.OfPermission)
}

func (a *api) deletePermission(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.None], error) {
	id, err := httpapi.ParamID(c, "permission", rbac.ParsePermissionID)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	out, err := a.writer.DeletePermission(ctx, a.request(c), s, id, c.CheckPreconditions)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	return deleted(out), nil
}

func (a *api) listPermissions(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.Page[resource.Permission]], error) {
	return list(ctx, a, c, keys.Permissions(s.ID), permissionAlive, resource.OfPermission)
}

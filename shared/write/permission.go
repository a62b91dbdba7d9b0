package write

import (
	"context"
	"fmt"
	"strings"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// ErrNoPermission is the fault of a permission that is missing or deleted.
var ErrNoPermission = fault.New(fault.NotFound, "no such permission")

// PutPermission creates or replaces a permission. The State of want is ignored.
func (w *Writer) PutPermission(ctx context.Context, req *Request, s Scope, want entity.Permission, pre Precondition) (Outcome, error) {
	d := permission(s, want.ID)
	d.decide = func(_ context.Context, st snapshot.State, it *table.Item) (change, error) {
		old, exists, err := live[entity.Permission](it)
		if err != nil {
			return change{}, err
		}
		if err := pre.test(exists, table.VersionOf(it)); err != nil {
			return change{}, err
		}
		if !exists && st.Head.Permissions >= rbac.MaxPermissionsInScope {
			return change{}, limit("permissions a scope", rbac.MaxPermissionsInScope)
		}
		want.State = old.State
		c := permissionChange(old.State)
		c.unchanged = exists && want == old
		c.content = func(state rbac.State) any {
			next := want
			next.State = state
			return next
		}
		return c, nil
	}
	return w.writeDefinition(ctx, req, d)
}

// DeletePermission deletes a permission that no role has; fault.InUse otherwise.
func (w *Writer) DeletePermission(ctx context.Context, req *Request, s Scope, id rbac.PermissionID, pre Precondition) (Outcome, error) {
	d := permission(s, id)
	d.decide = func(ctx context.Context, _ snapshot.State, it *table.Item) (change, error) {
		old, exists, err := live[entity.Permission](it)
		if err != nil {
			return change{}, err
		}
		if !exists {
			return change{}, ErrNoPermission
		}
		if err := pre.test(exists, it.Version); err != nil {
			return change{}, err
		}
		users := new(users)
		err = stored.All(ctx, w.Table, keys.Roles(s.ID), func(r stored.Row[entity.Role]) bool {
			for _, p := range r.Entity.Permissions {
				if !r.Entity.Deleted && p.ID == id {
					users.add("role", r.Entity.ID.String())
				}
			}
			return !users.full()
		})
		if err != nil {
			return change{}, err
		}
		return permissionChange(old.State), users.inUse("permission")
	}
	return w.writeDefinition(ctx, req, d)
}

func permission(s Scope, id rbac.PermissionID) definition {
	return definition{scope: s, id: rbac.OfPermission(id), key: keys.Permission(s.ID, id).Raw(), kind: "Permission", entity: "permission"}
}

func permissionChange(old rbac.State) change {
	return change{
		old:   old,
		count: func(h *head.Head, by int) { h.Permissions += by },
		show:  showing(resource.OfPermission),
	}
}

func limit(name string, most int) error {
	return fault.New(fault.LimitExceeded, "%s: at most %d", name, most)
}

// users collects who refers to something, 10 at most.
type users struct{ found []fault.User }

const maxUsers = 10

func (u *users) add(kind, id string) {
	if !u.full() {
		u.found = append(u.found, fault.User{Type: kind, ID: id})
	}
}

func (u *users) full() bool { return len(u.found) >= maxUsers }

// inUse is the fault that names them; nil when there are none.
func (u *users) inUse(what string) error {
	if len(u.found) == 0 {
		return nil
	}
	names := make([]string, len(u.found))
	for i, by := range u.found {
		names[i] = fmt.Sprintf("%s %q", by.Type, by.ID)
	}
	list := strings.Join(names, ", ")
	if u.full() {
		list += " and maybe more"
	}
	return &fault.Error{Code: fault.InUse, Detail: fmt.Sprintf("the %s is used by %s", what, list), UsedBy: u.found}
}

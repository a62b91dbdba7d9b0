package write

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// ErrNoRole is the fault of a role that is missing or deleted.
var ErrNoRole = fault.New(fault.NotFound, "no such role")

// Role is what a role is to be: references by id, resolved to the incarnations
// that live when it is written.
type Role struct {
	ID                rbac.RoleID
	Name              string
	Description       string
	Permissions       []rbac.PermissionID
	Inherits          []rbac.RoleID
	Approvers         []rbac.SubjectID
	RequiredApprovals int
}

// PutRole creates or replaces a role. Faults: UnknownReference naming the
// field, RoleCycle with the path, LimitExceeded.
func (w *Writer) PutRole(ctx context.Context, req *Request, s Scope, want Role, pre Precondition) (Outcome, error) {
	d := role(s, want.ID)
	d.wanted = func(st snapshot.State) ([]rbac.DefinitionID, error) { return want.below(st.Defs) }
	d.decide = func(ctx context.Context, st snapshot.State, it *table.Item) (change, error) {
		old, exists, err := live[entity.Role](it)
		if err != nil {
			return change{}, err
		}
		if err := pre.test(exists, table.VersionOf(it)); err != nil {
			return change{}, err
		}
		if !exists && st.Head.Roles >= rbac.MaxRolesInScope {
			return change{}, limit("roles a scope", rbac.MaxRolesInScope)
		}
		next, err := want.resolve(st.Defs, old.State)
		if err != nil {
			return change{}, err
		}
		// Roles above this one may come to pass a limit. A role that is new has none.
		if exists && len(next.Inherits) > 0 && !slices.Equal(next.Inherits, old.Inherits) {
			if err := w.readRoles(ctx, s, st); err != nil {
				return change{}, err
			}
		}
		if _, err := rbac.CheckInheritance(st.Defs, want.ID, next.Inherits); err != nil {
			return change{}, inheritanceFault(err)
		}
		c := roleChange(old.State)
		c.unchanged = exists && sameRole(next, old)
		c.content = func(state rbac.State) any {
			next.State = state
			return next
		}
		return c, nil
	}
	return w.writeDefinition(ctx, req, d)
}

// below are the definitions that validating the role needs: its permissions and
// all roles that it would inherit.
func (r Role) below(defs *rbac.Definitions) ([]rbac.DefinitionID, error) {
	var missing []rbac.DefinitionID
	for _, id := range r.Permissions {
		if _, known := defs.Permission(id); !known {
			missing = append(missing, rbac.OfPermission(id))
		}
	}
	var refs []rbac.RoleRef
	for _, id := range r.Inherits {
		p, known := defs.Role(id)
		switch {
		case !known:
			missing = append(missing, rbac.OfRole(id))
		case p != nil && !p.Deleted:
			refs = append(refs, rbac.RoleRef{ID: id, Incarnation: p.Incarnation})
		}
	}
	if len(missing) > 0 {
		return missing, nil
	}
	missing, err := rbac.CheckInheritance(defs, r.ID, refs)
	if err != nil {
		return nil, inheritanceFault(err)
	}
	return missing, nil
}

// resolve turns ids into references; all of them must be live.
func (r Role) resolve(defs *rbac.Definitions, state rbac.State) (entity.Role, error) {
	e := entity.Role{
		Role: rbac.Role{ID: r.ID, State: state, Permissions: make([]rbac.PermissionRef, len(r.Permissions)), Inherits: make([]rbac.RoleRef, len(r.Inherits))},
		Name: r.Name, Description: r.Description, Approvers: r.Approvers, RequiredApprovals: r.RequiredApprovals,
	}
	unknown := &fault.Error{Code: fault.UnknownReference, Detail: "the role refers to what does not exist"}
	for i, id := range r.Permissions {
		if p, _ := defs.Permission(id); p != nil && !p.Deleted {
			e.Permissions[i] = rbac.PermissionRef{ID: id, Incarnation: p.Incarnation}
			continue
		}
		unknown.Fields = append(unknown.Fields, noSuch(element("permissions", i), "permission", id.String()))
	}
	for i, id := range r.Inherits {
		if p, _ := defs.Role(id); p != nil && !p.Deleted {
			e.Inherits[i] = rbac.RoleRef{ID: id, Incarnation: p.Incarnation}
			continue
		}
		if id == r.ID {
			return e, inheritanceFault(&rbac.RoleCycleError{Path: []rbac.RoleID{id, id}})
		}
		unknown.Fields = append(unknown.Fields, noSuch(element("inherits", i), "role", id.String()))
	}
	if len(unknown.Fields) > 0 {
		return e, unknown
	}
	return e, nil
}

// readRoles puts every role of the scope into the state, complete up to HEAD.
func (w *Writer) readRoles(ctx context.Context, s Scope, st snapshot.State) error {
	return stored.All(ctx, w.Table, keys.Roles(s.ID), func(r stored.Row[entity.Role]) bool {
		st.Defs.PutRole(r.Entity.ID, &r.Entity.Role)
		return true
	})
}

// DeleteRole deletes a role that nobody holds and no role inherits; fault.InUse
// otherwise. An assignment that is over is no use.
func (w *Writer) DeleteRole(ctx context.Context, req *Request, s Scope, id rbac.RoleID, pre Precondition) (Outcome, error) {
	d := role(s, id)
	d.decide = func(ctx context.Context, _ snapshot.State, it *table.Item) (change, error) {
		old, exists, err := live[entity.Role](it)
		if err != nil {
			return change{}, err
		}
		if !exists {
			return change{}, ErrNoRole
		}
		if err := pre.test(exists, it.Version); err != nil {
			return change{}, err
		}
		users := new(users)
		err = stored.All(ctx, w.Table, keys.Roles(s.ID), func(r stored.Row[entity.Role]) bool {
			for _, p := range r.Entity.Inherits {
				if !r.Entity.Deleted && p.ID == id {
					users.add("role", r.Entity.ID.String())
				}
			}
			return !users.full()
		})
		if err != nil {
			return change{}, err
		}
		now := w.Clock.Now()
		err = stored.All(ctx, w.Table, keys.RoleMembers(s.ID, id), func(m stored.Row[entity.RoleMember]) bool {
			over := m.Entity.ExpiresAt != nil && !now.Before(*m.Entity.ExpiresAt)
			if !over && m.Entity.Incarnation == old.Incarnation {
				users.add("subject", m.Entity.Subject.String())
			}
			return !users.full()
		})
		if err != nil {
			return change{}, err
		}
		return roleChange(old.State), users.inUse("role")
	}
	return w.writeDefinition(ctx, req, d)
}

func role(s Scope, id rbac.RoleID) definition {
	return definition{scope: s, id: rbac.OfRole(id), key: keys.Role(s.ID, id).Raw(), kind: "Role", entity: "role"}
}

func roleChange(old rbac.State) change {
	return change{
		old:   old,
		count: func(h *head.Head, by int) { h.Roles += by },
		show:  showing(resource.OfRole),
	}
}

func sameRole(a, b entity.Role) bool {
	return a.Name == b.Name && a.Description == b.Description && a.RequiredApprovals == b.RequiredApprovals &&
		slices.Equal(a.Permissions, b.Permissions) && slices.Equal(a.Inherits, b.Inherits) && slices.Equal(a.Approvers, b.Approvers)
}

// revisionOf is the revision at which the definition was written, as a plain
// consistent read shows it.
func (w *Writer) revisionOf(ctx context.Context, scope rbac.ScopeID, id rbac.DefinitionID) (rbac.Revision, error) {
	if p, ok := id.Permission(); ok {
		e, _, err := stored.Get(ctx, w.Table, keys.Permission(scope, p), table.Strong)
		return e.Revision, err
	}
	if r, ok := id.Role(); ok {
		e, _, err := stored.Get(ctx, w.Table, keys.Role(scope, r), table.Strong)
		return e.Revision, err
	}
	return 0, fmt.Errorf("write: no stored definition of kind %q", id.Kind())
}

// inheritanceFault tells the caller what is wrong with `inherits`.
func inheritanceFault(err error) error {
	var cycle *rbac.RoleCycleError
	if errors.As(err, &cycle) {
		return fault.InField(fault.RoleCycle, "inherits", "%s", cycle.Error())
	}
	var limit *rbac.LimitError
	if errors.As(err, &limit) {
		return fault.InField(fault.LimitExceeded, "inherits", "%s", limit.Error())
	}
	return err
}

// noSuch says that a field names what does not exist.
func noSuch(field, kind, id string) fault.Field {
	return fault.Field{Field: field, Message: fmt.Sprintf("no such %s: %q", kind, id)}
}

func element(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

package admin

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/httpapi/wire"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

func (a *api) subjects() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Bind(httpapi.Route{
			Name: "subjects.permissions", Summary: "List what a subject is granted now, and by which role",
			Method: http.MethodGet, Pattern: "/v1/scopes/{scope}/subjects/{subject}/permissions", Permission: reads,
			Success: []int{http.StatusOK}, List: true,
		}, inScope(a, a.effectivePermissions)),
	}
}

// effectivePermission is one permission that a subject has by one role.
type effectivePermission struct {
	Permission rbac.PermissionID `json:"permission"`
	Resource   rbac.ResourceID   `json:"resource"`
	Action     rbac.ActionID     `json:"action"`
	Effect     rbac.Effect       `json:"effect"`
	ExpiresAt  instant.Time      `json:"expires_at,omitzero"`
	Role       rbac.RoleID       `json:"role"` // the assigned one
	Via        []rbac.RoleID     `json:"via"`  // the roles inherited from there, one after the other

	reached rbac.RoleID // the role that has the permission: the last of Via, else Role
}

// place orders the list, and is where a cursor points: a permission and a role
// that has it stand in it once.
func (e *effectivePermission) place() string {
	return e.Permission.String() + placeSeparator + e.reached.String()
}

// placeSeparator sorts before all that an id may hold.
const placeSeparator = "\x00"

// effectivePermissions resolves a subject's assignments with the definitions of
// one snapshot. A subject without a policy has none.
func (a *api) effectivePermissions(ctx context.Context, c *httpapi.Call, s write.Scope, _ httpapi.None) (httpapi.Reply[httpapi.Page[effectivePermission]], error) {
	none := httpapi.Reply[httpapi.Page[effectivePermission]]{}
	subject, err := httpapi.ParamID(c, "subject", rbac.ParseSubjectID)
	if err != nil {
		return none, err
	}
	after, err := cursorPlace(effectiveQuery(s, subject, c.Cursor()))
	if err != nil {
		return none, err
	}
	resolution, err := a.resolve(ctx, s, subject)
	if err != nil {
		return none, err
	}
	all := a.inForce(resolution)
	from, found := slices.BinarySearchFunc(all, after, func(e effectivePermission, place string) int { return cmp.Compare(e.place(), place) })
	if found {
		from++
	}
	page, err := cut(all[from:], c.Limit())
	if err != nil {
		return none, err
	}
	if n := len(page.Items); n < len(all)-from {
		q := effectiveQuery(s, subject, "")
		page.NextCursor = table.EncodeCursor(q, table.Position{SK: q.Prefix + page.Items[n-1].place()})
	}
	return httpapi.Reply[httpapi.Page[effectivePermission]]{Body: page}, nil
}

// resolve reads the subject's assignments, as its document has them, and the
// definitions they lead to, all at one revision.
func (a *api) resolve(ctx context.Context, s write.Scope, subject rbac.SubjectID) (*rbac.Resolution, error) {
	var resolution *rbac.Resolution
	_, err := a.writer.Snapshots.Read(ctx, snapshot.Request{
		Scope: s.ID,
		With:  []keys.Raw{keys.Access(s.ID, subject).Raw()},
		Wanted: func(st snapshot.State) ([]rbac.DefinitionID, error) {
			if st.Head.Deleted || st.Head.Org != s.Org || st.Head.Incarnation != s.Incarnation {
				return nil, write.ErrNoScope
			}
			assigned, err := assignments(st.With[0], s)
			if err != nil {
				return nil, err
			}
			resolution = rbac.Resolve(assigned, st.Defs)
			return resolution.Missing, nil
		},
	})
	if err == nil && resolution == nil {
		err = write.ErrNoScope
	}
	return resolution, err
}

func assignments(document *table.Item, s write.Scope) ([]rbac.Assignment, error) {
	if document == nil {
		return nil, nil
	}
	v, err := access.Parse(document.Blob)
	if err != nil {
		return nil, err
	}
	if !v.Of(s.Org, s.Incarnation) {
		return nil, nil
	}
	return v.Assignments()
}

// inForce shows the grants that count now, in the list's order.
func (a *api) inForce(r *rbac.Resolution) []effectivePermission {
	now := a.clock.Now()
	all := make([]effectivePermission, 0, len(r.Grants))
	for _, g := range r.Grants {
		end := g.Reach.Expiry()
		if !end.InForce(now) {
			continue
		}
		e := effectivePermission{
			Permission: g.Permission.ID, Resource: g.Permission.Resource, Action: g.Permission.Action, Effect: g.Permission.Effect,
			reached: g.Reach.Role(),
		}
		if !end.Never() {
			e.ExpiresAt = instant.At(end.Time())
		}
		e.Role, e.Via = g.Reach.Path()
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b effectivePermission) int { return cmp.Compare(a.place(), b.place()) })
	return all
}

// effectiveQuery is what a cursor of this list is bound to: the subject's own
// partition, and a range of it that holds no items.
func effectiveQuery(s write.Scope, subject rbac.SubjectID, cursor string) table.Query {
	return table.Query{PK: keys.Access(s.ID, subject).Raw().PK(), Prefix: "GRANT#", Cursor: cursor}
}

func cursorPlace(q table.Query) (string, error) {
	p, ok, err := table.DecodeCursor(q)
	if err != nil || !ok {
		return "", err
	}
	return p.SK[len(q.Prefix):], nil
}

// cut is the longest page of the items that is within the limits.
func cut(items []effectivePermission, limit int) (httpapi.Page[effectivePermission], error) {
	page := httpapi.Page[effectivePermission]{Items: []effectivePermission{}}
	size := 0
	for _, e := range items[:min(limit, len(items))] {
		b, err := wire.Encode(e)
		if err != nil {
			return page, err
		}
		if size += len(b) + len(","); size > httpapi.MaxPageBytes && len(page.Items) > 0 {
			break
		}
		page.Items = append(page.Items, e)
	}
	return page, nil
}

package write

import (
	"cmp"
	"slices"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
)

// assignments are a stored policy's, in the domain's form.
func assignments(p entity.Policy) []rbac.Assignment {
	out := make([]rbac.Assignment, len(p.Assignments))
	for i, a := range p.Assignments {
		out[i] = rbac.Assignment{
			Role:   rbac.RoleRef{ID: a.Role, Incarnation: a.Incarnation},
			Source: rbac.Source{Kind: a.SourceKind, ID: a.SourceID, Incarnation: a.SourceIncarnation},
		}
		if a.ExpiresAt != nil {
			out[i].Expiry = rbac.ExpiresAt(*a.ExpiresAt)
		}
	}
	return out
}

func storedAssignments(as []rbac.Assignment) []entity.Assignment {
	out := make([]entity.Assignment, len(as))
	for i, a := range as {
		out[i] = entity.Assignment{
			Role: a.Role.ID, Incarnation: a.Role.Incarnation,
			SourceKind: a.Source.Kind, SourceID: a.Source.ID, SourceIncarnation: a.Source.Incarnation,
			ExpiresAt: expiresAt(a.Expiry),
		}
	}
	return out
}

// sortAssignments orders by role and source: the order of a request says nothing.
func sortAssignments(as []rbac.Assignment) {
	slices.SortFunc(as, func(a, b rbac.Assignment) int {
		return cmp.Or(cmp.Compare(a.Role.ID.String(), b.Role.ID.String()), cmp.Compare(a.Source.String(), b.Source.String()))
	})
}

func sameAssignments(a, b []rbac.Assignment) bool {
	return slices.EqualFunc(a, b, func(x, y rbac.Assignment) bool {
		return x.Role == y.Role && x.Source == y.Source && x.Expiry.Equal(y.Expiry)
	})
}

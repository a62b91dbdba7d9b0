package entity

import (
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

// Domain is a policy's assignments in the domain's form.
func (p Policy) Domain() []rbac.Assignment {
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

// OfAssignments are assignments in the form that is stored.
func OfAssignments(as []rbac.Assignment) []Assignment {
	out := make([]Assignment, len(as))
	for i, a := range as {
		out[i] = Assignment{
			Role: a.Role.ID, Incarnation: a.Role.Incarnation,
			SourceKind: a.Source.Kind, SourceID: a.Source.ID, SourceIncarnation: a.Source.Incarnation,
			ExpiresAt: ExpiresAt(a.Expiry),
		}
	}
	return out
}

// ExpiresAt is an expiry in the form that is stored: nil for never.
func ExpiresAt(e rbac.Expiry) *time.Time {
	if e.Never() {
		return nil
	}
	return new(e.Time())
}

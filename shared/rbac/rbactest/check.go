package rbactest

import (
	"fmt"
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

// CheckDecision holds a decision against the reference: the same reason, the
// same permissions from the same roles, each once and sorted, and every way that
// is told exists and is in force.
func (w *World) CheckDecision(subject string, q rbac.Question, now time.Time, got rbac.Decision) error {
	reason, held := w.Reference(subject, q.Resource.String(), q.Action.String(), now)
	if got.Reason != reason {
		return fmt.Errorf("reason %q, the reference says %q", got.Reason, reason)
	}
	if !slices.IsSortedFunc(got.Matched, rbac.CompareMatches) {
		return fmt.Errorf("matches are not sorted: %v", got.Matched)
	}
	if len(got.Matched) != len(held) {
		return fmt.Errorf("matched %v, the reference says %v", got.Matched, held)
	}
	for _, m := range got.Matched {
		holder, err := w.follow(subject, m, now)
		if err != nil {
			return fmt.Errorf("match %v: %w", m, err)
		}
		i := slices.Index(held, Held{Permission: m.Permission.String(), Effect: m.Effect, Holder: holder})
		if i < 0 {
			return fmt.Errorf("match %v by role %q twice, or not in the reference %v", m, holder, held)
		}
		held = slices.Delete(held, i, i+1)
	}
	return nil
}

// follow walks the way that a match tells, and returns the role it ends at.
func (w *World) follow(subject string, m rbac.Match, now time.Time) (string, error) {
	at := m.Role.String()
	assigned := slices.ContainsFunc(w.Held[subject], func(a rbac.Assignment) bool {
		return a.Role.ID.String() == at && w.liveRole(a.Role) != nil && a.Expiry.InForce(now) &&
			(a.Source.Kind != rbac.SourceMapping || w.mappingLives(a.Source))
	})
	if !assigned {
		return "", fmt.Errorf("no assignment of role %q is in force", at)
	}
	for _, next := range m.Via {
		here := w.Roles[slices.IndexFunc(w.Roles, func(r *rbac.Role) bool { return r.ID.String() == at })]
		inherited := slices.ContainsFunc(here.Inherits, func(ref rbac.RoleRef) bool {
			return ref.ID == next && w.liveRole(ref) != nil
		})
		if !inherited {
			return "", fmt.Errorf("role %q does not inherit %q", at, next)
		}
		at = next.String()
	}
	return at, nil
}

func (w *World) liveRole(ref rbac.RoleRef) *rbac.Role {
	for _, r := range w.Roles {
		if r.ID.String() == ref.ID.String() && !r.Deleted && r.Incarnation == ref.Incarnation {
			return r
		}
	}
	return nil
}

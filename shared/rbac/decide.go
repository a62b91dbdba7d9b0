package rbac

import (
	"cmp"
	"slices"
	"time"
)

// Decision is an answer and what it rests on.
type Decision struct {
	Reason  Reason
	Matched []Match // every permission in force that matches, by each role that has it; sorted by CompareMatches
}

// Match is a permission that speaks about a question, and how the subject has it.
type Match struct {
	Permission PermissionID `json:"permission"`
	Role       RoleID       `json:"role"` // the assigned role
	Via        []RoleID     `json:"via"`  // the roles inherited on the way from it, the last has the permission; empty when Role does
	Effect     Effect       `json:"effect"`
}

// CompareMatches orders by permission, role and way, all by bytes.
func CompareMatches(a, b Match) int {
	return cmp.Or(
		cmp.Compare(a.Permission.s, b.Permission.s),
		cmp.Compare(a.Role.s, b.Role.s),
		slices.CompareFunc(a.Via, b.Via, func(x, y RoleID) int { return cmp.Compare(x.s, y.s) }),
		cmp.Compare(a.Effect, b.Effect),
	)
}

// InForce says whether any of the assignments counts at the instant now,
// whatever has become of its role.
func InForce(assignments []Assignment, now time.Time) bool {
	return slices.ContainsFunc(assignments, func(a Assignment) bool { return a.Expiry.InForce(now) })
}

// Decide answers a question at an instant. ReasonUndecided when definitions are
// missing.
func (r *Resolution) Decide(q Question, now time.Time) Reason {
	switch {
	case len(r.Missing) > 0:
		return ReasonUndecided
	case !InForce(r.Assignments, now):
		return ReasonNoPolicy
	}
	reason := ReasonNoMatch
	for _, g := range r.Grants {
		switch {
		case !g.Permission.Matches(q) || !g.Reach.expiry.InForce(now):
		case g.Permission.Effect != Allow:
			return ReasonDenied
		default:
			reason = ReasonAllowed
		}
	}
	return reason
}

// Explain is Decide with all that matches, denies and allows.
func (r *Resolution) Explain(q Question, now time.Time) Decision {
	d := Decision{Reason: r.Decide(q, now), Matched: []Match{}}
	if d.Reason == ReasonUndecided {
		return d
	}
	for _, g := range r.Grants {
		if g.Permission.Matches(q) && g.Reach.expiry.InForce(now) {
			assigned, via := g.Reach.Path()
			d.Matched = append(d.Matched, Match{Permission: g.Permission.ID, Role: assigned, Via: via, Effect: g.Permission.Effect})
		}
	}
	slices.SortFunc(d.Matched, CompareMatches)
	return d
}

package protocoltest

import (
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
)

// oracle is the decision from first principles. It shares nothing with what
// resolves assignments or reads documents.
func oracle(assignments []entity.Assignment, defs *definitions, resource string, now time.Time) rbac.Reason {
	if defs.deleted {
		return rbac.ReasonNoPolicy
	}
	reason := rbac.ReasonNoPolicy
	allowed, denied := false, false
	seen := map[string]bool{}
	var role func(id string, incarnation rbac.Incarnation)
	role = func(id string, incarnation rbac.Incarnation) {
		r, there := defs.roles[id]
		if !there || r.Deleted || r.Incarnation != incarnation || seen[id] {
			return
		}
		seen[id] = true
		for _, ref := range r.Permissions {
			p, there := defs.permissions[ref.ID.String()]
			if !there || p.Deleted || p.Incarnation != ref.Incarnation {
				continue
			}
			if on := p.Resource.String(); on != resource && on != "*" {
				continue
			}
			if p.Effect == rbac.Deny {
				denied = true
			} else {
				allowed = true
			}
		}
		for _, ref := range r.Inherits {
			role(ref.ID.String(), ref.Incarnation)
		}
	}
	for _, a := range assignments {
		if a.ExpiresAt != nil && !now.Before(*a.ExpiresAt) {
			continue
		}
		reason = rbac.ReasonNoMatch
		role(a.Role.String(), a.Incarnation)
	}
	switch {
	case denied:
		return rbac.ReasonDenied
	case allowed:
		return rbac.ReasonAllowed
	}
	return reason
}

// reaches says whether a role comes to another by inheritance.
func (d *definitions) reaches(from, to string) bool {
	seen := map[string]bool{}
	var walk func(id string) bool
	walk = func(id string) bool {
		if id == to {
			return true
		}
		r, there := d.roles[id]
		if !there || r.Deleted || seen[id] {
			return false
		}
		seen[id] = true
		for _, ref := range r.Inherits {
			if walk(ref.ID.String()) {
				return true
			}
		}
		return false
	}
	return walk(from)
}

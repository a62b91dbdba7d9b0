package rbactest

import (
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

// Held is a permission that a role has, as the reference sees it.
type Held struct {
	Permission string
	Effect     rbac.Effect
	Holder     string // the role that lists the permission
}

// Reference answers a question from first principles: one assignment after the
// other, one question at a time, comparing plain texts. It returns each
// permission that matches, once for each role that lists it.
func (w *World) Reference(subject, resource, action string, now time.Time) (rbac.Reason, []Held) {
	var held []Held
	anything := false
	for _, a := range w.Held[subject] {
		if !a.Expiry.Never() && !now.Before(a.Expiry.Time()) {
			continue
		}
		anything = true
		if a.Source.Kind == rbac.SourceMapping && !w.mappingLives(a.Source) {
			continue
		}
		w.collect(a.Role, resource, action, nil, &held)
	}
	if !anything {
		return rbac.ReasonNoPolicy, nil
	}
	switch effects := effectsOf(held); {
	case effects[rbac.Deny]:
		return rbac.ReasonDenied, held
	case effects[rbac.Allow]:
		return rbac.ReasonAllowed, held
	}
	return rbac.ReasonNoMatch, nil
}

// collect adds what a role and its parents hold; above is the way that led here.
func (w *World) collect(ref rbac.RoleRef, resource, action string, above []string, held *[]Held) {
	name := ref.ID.String()
	if slices.Contains(above, name) {
		return
	}
	for _, r := range w.Roles {
		if r.ID.String() != name || r.Deleted || r.Incarnation != ref.Incarnation {
			continue
		}
		for _, pref := range r.Permissions {
			for _, p := range w.Permissions {
				if p.ID.String() != pref.ID.String() || p.Deleted || p.Incarnation != pref.Incarnation {
					continue
				}
				found := Held{Permission: p.ID.String(), Effect: p.Effect, Holder: name}
				if speaks(p.Resource.String(), resource) && speaks(p.Action.String(), action) && !slices.Contains(*held, found) {
					*held = append(*held, found)
				}
			}
		}
		for _, parent := range r.Inherits {
			w.collect(parent, resource, action, append(slices.Clone(above), name), held)
		}
	}
}

func (w *World) mappingLives(s rbac.Source) bool {
	return slices.ContainsFunc(w.Mappings, func(m *rbac.Mapping) bool {
		return m.ID.String() == s.ID && !m.Deleted && m.Incarnation == s.Incarnation
	})
}

func speaks(pattern, name string) bool { return pattern == "*" || pattern == name }

func effectsOf(held []Held) map[rbac.Effect]bool {
	effects := map[rbac.Effect]bool{}
	for _, h := range held {
		effects[h.Effect] = true
	}
	return effects
}

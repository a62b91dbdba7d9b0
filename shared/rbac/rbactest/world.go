// Package rbactest has what tests of decisions share: worlds, a corpus of them
// with answers derived by hand, random ones, and a naive reference that answers
// from first principles and shares no code with the product. Only tests import it.
package rbactest

import (
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

// World is one scope: its definitions as they stand, and who holds what.
// Tombstones are among the definitions; an id stands at most once in each list.
type World struct {
	Permissions []*rbac.Permission
	Roles       []*rbac.Role
	Mappings    []*rbac.Mapping
	Held        map[string][]rbac.Assignment // by subject
}

// Definitions is the whole world, read; every other id is not known.
func (w *World) Definitions() *rbac.Definitions {
	defs := &rbac.Definitions{}
	for _, p := range w.Permissions {
		defs.PutPermission(p.ID, p)
	}
	for _, r := range w.Roles {
		defs.PutRole(r.ID, r)
	}
	for _, m := range w.Mappings {
		defs.PutMapping(m.ID, m)
	}
	return defs
}

// Read adds what the world has under the ids to a set, absent where it has
// nothing: a store that answers at once.
func (w *World) Read(defs *rbac.Definitions, ids []rbac.DefinitionID) {
	all := w.Definitions()
	for _, d := range ids {
		if id, ok := d.Permission(); ok {
			p, _ := all.Permission(id)
			defs.PutPermission(id, p)
		}
		if id, ok := d.Role(); ok {
			r, _ := all.Role(id)
			defs.PutRole(id, r)
		}
		if id, ok := d.Mapping(); ok {
			m, _ := all.Mapping(id)
			defs.PutMapping(id, m)
		}
	}
}

// Resolve resolves a subject's assignments, beginning with nothing read.
func (w *World) Resolve(subject string) *rbac.Resolution {
	defs := &rbac.Definitions{}
	for {
		res := rbac.Resolve(w.Held[subject], defs)
		if len(res.Missing) == 0 {
			return res
		}
		w.Read(defs, res.Missing)
	}
}

// Question is a question in the world with its answer.
type Question struct {
	Subject string
	Ask     rbac.Question
	At      time.Time
	Reason  rbac.Reason
	Matched []rbac.Match // sorted by rbac.CompareMatches
	Why     string
}

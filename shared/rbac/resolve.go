package rbac

import (
	"cmp"
	"slices"
)

// Reach is how a subject comes to a role: by the assignment that lasts longest
// of all that lead there, on the shortest way among equals.
type Reach struct {
	role   RoleID
	parent *Reach // whose role inherits this one; nil when the role is assigned itself
	expiry Expiry
}

// Role is the role that is reached.
func (r *Reach) Role() RoleID { return r.role }

// Parent is the reach of the role that inherits this one; nil when this role is
// assigned itself.
func (r *Reach) Parent() *Reach { return r.parent }

// Expiry is when the assignment is over that leads here.
func (r *Reach) Expiry() Expiry { return r.expiry }

// Path is the assigned role and the roles inherited one after the other from
// there: empty when the reached role is assigned itself, otherwise ending with it.
func (r *Reach) Path() (assigned RoleID, via []RoleID) {
	via = []RoleID{}
	for ; r.parent != nil; r = r.parent {
		via = append(via, r.role)
	}
	slices.Reverse(via)
	return r.role, via
}

// Grant is one permission that a subject has by one role.
type Grant struct {
	Permission *Permission
	Reach      *Reach
}

// Resolution is what a subject's assignments come to under the definitions of
// one revision. It depends on no clock: what is over stays in, with its expiry.
type Resolution struct {
	Assignments []Assignment
	// Missing are the ids that have to be read before anything can be said; the
	// caller reads them and resolves again. Each once, in the order it was met.
	Missing []DefinitionID
	// Names are all the definitions that had a say, those included that were
	// absent, empty or of another incarnation: while none of them changes, the
	// resolution stays the same. Each once, in the order it was met.
	Names []DefinitionID
	// Roles are the reached roles, each once, a role after the one that inherits it.
	Roles []*Reach
	// Grants are the permissions of the reached roles, in the order of Roles.
	Grants []Grant
}

// Resolve follows assignments to roles, inherited roles and permissions. A
// reference counts only while the incarnation that it names is live; an
// assignment from a mapping only while that incarnation of the mapping is.
//
// It visits each role once, so it ends also when the data has cycles.
func Resolve(assignments []Assignment, defs *Definitions) *Resolution {
	w := walk{
		defs:  defs,
		noted: make(map[DefinitionID]struct{}, likely(assignments, defs)),
		seen:  make(map[RoleID]struct{}, len(assignments)),
		res:   &Resolution{Assignments: assignments},
	}
	// Those that last longest go first, and all of one expiry go step by step
	// side by side: the first visit of a role is then the one to keep.
	order := slices.Clone(assignments)
	slices.SortStableFunc(order, func(a, b Assignment) int {
		return cmp.Or(b.Expiry.Compare(a.Expiry), cmp.Compare(a.Role.ID.s, b.Role.ID.s))
	})
	for i, a := range order {
		if i > 0 && !a.Expiry.Equal(order[i-1].Expiry) {
			w.spread()
		}
		if w.sourceLive(a.Source) {
			w.visit(a.Role, nil, a.Expiry)
		}
	}
	w.spread()
	return w.res
}

// likely is how many definitions the assignments name without what is inherited.
func likely(assignments []Assignment, defs *Definitions) int {
	n := len(assignments)
	for _, a := range assignments {
		if r, _ := defs.Role(a.Role.ID); r != nil {
			n += len(r.Permissions)
		}
	}
	return n
}

type walk struct {
	defs  *Definitions
	noted map[DefinitionID]struct{}
	seen  map[RoleID]struct{}
	queue []visit
	res   *Resolution
}

type visit struct {
	role  *Role
	reach *Reach
}

func (w *walk) sourceLive(s Source) bool {
	if s.Kind != SourceMapping {
		return true
	}
	id := MappingID{s: s.ID}
	m, read := w.defs.Mapping(id)
	w.note(OfMapping(id), read)
	return m != nil && m.Live(s.Incarnation)
}

// visit takes a role into the resolution, unless the reference is dead or the
// role was reached before.
func (w *walk) visit(ref RoleRef, parent *Reach, expiry Expiry) {
	r, read := w.defs.Role(ref.ID)
	w.note(OfRole(ref.ID), read)
	if r == nil || !r.Live(ref.Incarnation) {
		return
	}
	if _, again := w.seen[ref.ID]; again {
		return
	}
	w.seen[ref.ID] = struct{}{}
	reach := &Reach{role: ref.ID, parent: parent, expiry: expiry}
	w.res.Roles = append(w.res.Roles, reach)
	w.queue = append(w.queue, visit{r, reach})
	w.res.Names = slices.Grow(w.res.Names, len(r.Permissions))
	w.res.Grants = slices.Grow(w.res.Grants, len(r.Permissions))
	for _, pref := range r.Permissions {
		p, read := w.defs.Permission(pref.ID)
		w.note(OfPermission(pref.ID), read)
		if p != nil && p.Live(pref.Incarnation) {
			w.res.Grants = append(w.res.Grants, Grant{p, reach})
		}
	}
}

// spread goes from the roles in the queue to all that they inherit, breadth first.
func (w *walk) spread() {
	for next := 0; next < len(w.queue); next++ {
		v := w.queue[next]
		for _, ref := range v.role.Inherits {
			w.visit(ref, v.reach, v.reach.expiry)
		}
	}
	w.queue = w.queue[:0]
}

func (w *walk) note(id DefinitionID, read bool) {
	if _, again := w.noted[id]; again {
		return
	}
	w.noted[id] = struct{}{}
	w.res.Names = append(w.res.Names, id)
	if !read {
		w.res.Missing = append(w.res.Missing, id)
	}
}

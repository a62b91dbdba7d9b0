package rbac

import (
	"maps"
	"slices"
	"strings"
)

// RoleCycleError says that a role would inherit itself.
type RoleCycleError struct {
	Path []RoleID // from the role on to itself, each inheriting the next
}

func (e *RoleCycleError) Error() string {
	names := make([]string, len(e.Path))
	for i, id := range e.Path {
		names[i] = id.s
	}
	return "role inherits itself: " + strings.Join(names, " > ")
}

// CheckInheritance says whether a role may inherit those roles: it must not come
// to inherit itself, and neither it nor a role that inherits it may pass
// MaxInheritanceDepth or MaxRolesInClosure.
//
// missing are ids below the role that have to be read; the caller reads them and
// asks again. Of the roles above it, those in defs are checked: a caller that
// wants all of them read has every role of the scope there.
//
// Errors: *RoleCycleError, *LimitError.
func CheckInheritance(defs *Definitions, role RoleID, inherits []RoleRef) (missing []DefinitionID, err error) {
	l := lineage{defs: defs, role: role, inherits: inherits, depths: map[RoleID]int{}, missing: map[DefinitionID]struct{}{}}
	if len(inherits) > MaxInheritsPerRole {
		return nil, &LimitError{Limit: "directly inherited roles", Max: MaxInheritsPerRole}
	}
	if path := l.cycle(); path != nil {
		return nil, &RoleCycleError{Path: path}
	}
	if err := l.limits(role); err != nil {
		return nil, err
	}
	for _, id := range l.above() {
		if err := l.limits(id); err != nil {
			err.Role = id
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Keys(l.missing), DefinitionID.Compare), nil
}

// lineage is the graph of inheritance as it would be with the change.
type lineage struct {
	defs     *Definitions
	role     RoleID
	inherits []RoleRef
	depths   map[RoleID]int
	missing  map[DefinitionID]struct{}
}

// parents are the roles that a role inherits by live references. A reference
// from the changed role to itself is live also before the role exists.
func (l *lineage) parents(id RoleID) []RoleID {
	refs := l.inherits
	if id != l.role {
		r, read := l.defs.Role(id)
		if !read {
			l.missing[OfRole(id)] = struct{}{}
		}
		if r == nil || r.Deleted {
			return nil
		}
		refs = r.Inherits
	}
	var live []RoleID
	for _, ref := range refs {
		r, read := l.defs.Role(ref.ID)
		self := id == l.role && ref.ID == l.role
		if self || !read || (r != nil && r.Live(ref.Incarnation)) {
			live = append(live, ref.ID)
		}
	}
	return live
}

// cycle is the shortest way from the role back to itself, nil when there is none.
func (l *lineage) cycle() []RoleID {
	from := map[RoleID]RoleID{}
	queue := []RoleID{l.role}
	for next := 0; next < len(queue); next++ {
		for _, id := range l.parents(queue[next]) {
			if id == l.role {
				path := []RoleID{l.role}
				for at := queue[next]; at != l.role; at = from[at] {
					path = append(path, at)
				}
				path = append(path, l.role)
				slices.Reverse(path)
				return path
			}
			if _, seen := from[id]; !seen {
				from[id] = queue[next]
				queue = append(queue, id)
			}
		}
	}
	return nil
}

// limits checks what one role would come to inherit.
func (l *lineage) limits(id RoleID) *LimitError {
	closure := map[RoleID]struct{}{id: {}}
	queue := []RoleID{id}
	for next := 0; next < len(queue); next++ {
		for _, p := range l.parents(queue[next]) {
			if _, seen := closure[p]; seen {
				continue
			}
			if len(closure) == MaxRolesInClosure {
				return &LimitError{Limit: "roles in a closure", Max: MaxRolesInClosure}
			}
			closure[p] = struct{}{}
			queue = append(queue, p)
		}
	}
	if l.depth(id) > MaxInheritanceDepth {
		return &LimitError{Limit: "inheritance depth", Max: MaxInheritanceDepth}
	}
	return nil
}

// depth is the number of steps of the longest way down from a role. A cycle in
// the data, which no accepted change made, counts once.
func (l *lineage) depth(id RoleID) int {
	if d, known := l.depths[id]; known {
		return d
	}
	l.depths[id] = 0
	deepest := 0
	for _, p := range l.parents(id) {
		deepest = max(deepest, l.depth(p)+1)
	}
	l.depths[id] = deepest
	return deepest
}

// above are the roles in defs that inherit the changed role, however far, sorted.
func (l *lineage) above() []RoleID {
	heirs := map[RoleID][]RoleID{}
	for id, r := range l.defs.roles {
		if r == nil || r.Deleted || id == l.role {
			continue
		}
		for _, p := range l.parents(id) {
			heirs[p] = append(heirs[p], id)
		}
	}
	found := map[RoleID]struct{}{}
	queue := []RoleID{l.role}
	for next := 0; next < len(queue); next++ {
		for _, id := range heirs[queue[next]] {
			if _, seen := found[id]; !seen {
				found[id] = struct{}{}
				queue = append(queue, id)
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b RoleID) int { return strings.Compare(a.s, b.s) })
}

package rbac_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/rbac/rbactest"
)

func roleRef(name string) rbac.RoleRef {
	return rbac.RoleRef{ID: rbac.Must(rbac.ParseRoleID(name)), Incarnation: 1}
}

func inheriting(name string, parents ...string) *rbac.Role {
	r := &rbac.Role{ID: roleRef(name).ID, State: rbac.State{Incarnation: 1}}
	for _, p := range parents {
		r.Inherits = append(r.Inherits, roleRef(p))
	}
	return r
}

// chain is a world of roles that each inherit the next: 0 inherits 1, and so on.
func chain(roles int) *rbactest.World {
	w := &rbactest.World{Held: map[string][]rbac.Assignment{}}
	for i := range roles {
		var parents []string
		if i+1 < roles {
			parents = []string{fmt.Sprint(i + 1)}
		}
		w.Roles = append(w.Roles, inheriting(fmt.Sprint(i), parents...))
	}
	return w
}

// closure is what a resolution must name and reach, found naively.
func closure(w *rbactest.World) (names map[rbac.DefinitionID]bool, reached map[rbac.RoleID]rbac.Expiry) {
	names, reached = map[rbac.DefinitionID]bool{}, map[rbac.RoleID]rbac.Expiry{}
	defs := w.Definitions()
	var follow func(ref rbac.RoleRef, end rbac.Expiry, above []rbac.RoleID)
	follow = func(ref rbac.RoleRef, end rbac.Expiry, above []rbac.RoleID) {
		names[rbac.OfRole(ref.ID)] = true
		r, _ := defs.Role(ref.ID)
		if r == nil || r.Deleted || r.Incarnation != ref.Incarnation || slices.Contains(above, ref.ID) {
			return
		}
		if before, there := reached[ref.ID]; !there || end.Compare(before) > 0 {
			reached[ref.ID] = end
		}
		for _, p := range r.Permissions {
			names[rbac.OfPermission(p.ID)] = true
		}
		for _, parent := range r.Inherits {
			follow(parent, end, append(slices.Clone(above), ref.ID))
		}
	}
	for _, a := range w.Held[rbactest.Subject] {
		if a.Source.Kind == rbac.SourceMapping {
			id := rbac.Must(rbac.ParseMappingID(a.Source.ID))
			names[rbac.OfMapping(id)] = true
			if m, _ := defs.Mapping(id); m == nil || m.Deleted || m.Incarnation != a.Source.Incarnation {
				continue
			}
		}
		follow(a.Role, a.Expiry, nil)
	}
	return names, reached
}

func TestResolveNamesAndReachesTheWholeClosure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rbactest.DrawWorld(t)
		res := w.Resolve(rbactest.Subject)
		names, reached := closure(w)
		for _, d := range res.Names {
			if !names[d] {
				t.Fatalf("%s is named and had no say, or is named twice", d)
			}
			delete(names, d)
		}
		if len(names) > 0 {
			t.Fatalf("not named: %v", names)
		}
		for i, r := range res.Roles {
			if end, there := reached[r.Role()]; !there || !end.Equal(r.Expiry()) {
				t.Fatalf("role %s is reached until %v, want %v (%v)", r.Role(), r.Expiry(), end, there)
			}
			delete(reached, r.Role())
			if r.Parent() != nil && !slices.Contains(res.Roles[:i], r.Parent()) {
				t.Fatalf("role %s stands before the one that inherits it", r.Role())
			}
		}
		if len(reached) > 0 {
			t.Fatalf("not reached: %v", reached)
		}
	})
}

// TestResolveDependsOnWhatItNames changes everything else at random: the
// resolution must stay the same.
func TestResolveDependsOnWhatItNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, other := rbactest.DrawWorld(t), rbactest.DrawWorld(t)
		before := w.Resolve(rbactest.Subject)
		defs := other.Definitions()
		for _, d := range before.Names {
			w.Read(defs, []rbac.DefinitionID{d})
		}
		after := rbac.Resolve(w.Held[rbactest.Subject], defs)
		if diff := cmp.Diff(before, after, exact...); diff != "" {
			t.Fatalf("it changed with something that it does not name (-before +after)\n%s", diff)
		}
	})
}

// TestResolveAsksForWhatIsMissing begins with some of the definitions read.
func TestResolveAsksForWhatIsMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rbactest.DrawWorld(t)
		want := w.Resolve(rbactest.Subject)
		defs := &rbac.Definitions{}
		for _, d := range want.Names {
			if rapid.Bool().Draw(t, "read before") {
				w.Read(defs, []rbac.DefinitionID{d})
			}
		}
		asked := map[rbac.DefinitionID]bool{}
		for {
			res := rbac.Resolve(w.Held[rbactest.Subject], defs)
			if len(res.Missing) == 0 {
				if diff := cmp.Diff(want, res, exact...); diff != "" {
					t.Fatalf("another resolution than from nothing (-want +got)\n%s", diff)
				}
				return
			}
			for _, d := range res.Missing {
				if asked[d] || !slices.Contains(want.Names, d) {
					t.Fatalf("asks for %s twice, or for nothing", d)
				}
				asked[d] = true
			}
			w.Read(defs, res.Missing)
		}
	})
}

func TestResolveVisitsEachRoleOnce(t *testing.T) {
	const roles = 5000
	w := chain(roles)
	w.Roles[roles-1].Inherits = []rbac.RoleRef{roleRef("0")} // a cycle through all of them
	for range 3 {
		w.Held["alice"] = append(w.Held["alice"], rbac.Assignment{Role: roleRef("0"), Source: rbac.Direct()})
	}
	res := rbac.Resolve(w.Held["alice"], w.Definitions())
	if len(res.Roles) != roles || len(res.Missing) > 0 {
		t.Fatalf("reached %d roles with %d missing, want %d and 0", len(res.Roles), len(res.Missing), roles)
	}
	last := res.Roles[roles-1]
	if assigned, via := last.Path(); assigned != roleRef("0").ID || len(via) != roles-1 || via[roles-2] != last.Role() {
		t.Errorf("the last role is reached from %s by %d steps", assigned, len(via))
	}
}

// BenchmarkResolve is the time of an answer from assignments: 200 grants by one role.
func BenchmarkResolve(b *testing.B) {
	role := inheriting("role")
	w := &rbactest.World{Roles: []*rbac.Role{role}}
	for i := range 200 {
		p := &rbac.Permission{
			ID:       rbac.Must(rbac.ParsePermissionID(fmt.Sprintf("resource-%d:read", i))),
			Resource: rbac.Must(rbac.ParseResourceID(fmt.Sprintf("resource-%d", i))),
			Action:   rbac.Must(rbac.ParseActionID("read")), Effect: rbac.Allow, State: rbac.State{Incarnation: 1},
		}
		w.Permissions = append(w.Permissions, p)
		role.Permissions = append(role.Permissions, rbac.PermissionRef{ID: p.ID, Incarnation: 1})
	}
	held := []rbac.Assignment{{Role: roleRef("role"), Source: rbac.Direct()}}
	defs := w.Definitions()
	b.ReportAllocs()
	for b.Loop() {
		if got := len(rbac.Resolve(held, defs).Grants); got != 200 {
			b.Fatalf("%d grants, want 200", got)
		}
	}
}

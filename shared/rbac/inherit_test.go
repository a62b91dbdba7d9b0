package rbac_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/rbac/rbactest"
)

func refs(names ...string) []rbac.RoleRef {
	return inheriting("any", names...).Inherits
}

func definitionsOf(roles ...*rbac.Role) *rbac.Definitions {
	return (&rbactest.World{Roles: roles}).Definitions()
}

func TestCheckInheritanceNamesTheCycle(t *testing.T) {
	defs := definitionsOf(
		inheriting("a"), inheriting("b", "a"), inheriting("c", "b"), inheriting("long", "c"),
		inheriting("short", "a"), inheriting("both", "long", "short"),
	)
	defs.PutRole(roleRef("absent").ID, nil)
	for _, c := range []struct {
		role     string
		inherits []string
		path     string // empty: accepted
	}{
		{"a", []string{"a"}, "a > a"},
		{"new", []string{"new"}, "new > new"},
		{"absent", []string{"absent"}, "absent > absent"},
		{"a", []string{"b"}, "a > b > a"},
		{"a", []string{"c"}, "a > c > b > a"},
		{"a", []string{"both"}, "a > both > short > a"},
		{"a", []string{"both", "b"}, "a > b > a"},
		{"a", nil, ""},
		{"new", []string{"both"}, ""},
		{"both", []string{"a", "b", "c"}, ""},
		{"c", []string{"short", "b"}, ""},
	} {
		missing, err := rbac.CheckInheritance(defs, roleRef(c.role).ID, refs(c.inherits...))
		if len(missing) > 0 {
			t.Errorf("%s inherits %v: missing %v", c.role, c.inherits, missing)
		}
		if c.path == "" {
			if err != nil {
				t.Errorf("%s inherits %v: %v, want no error", c.role, c.inherits, err)
			}
			continue
		}
		var cycle *rbac.RoleCycleError
		if !errors.As(err, &cycle) {
			t.Errorf("%s inherits %v: %v, want a cycle", c.role, c.inherits, err)
			continue
		}
		if !strings.HasSuffix(err.Error(), ": "+c.path) || cycle.Path[0] != roleRef(c.role).ID {
			t.Errorf("%s inherits %v: %v, want the path %s", c.role, c.inherits, err, c.path)
		}
	}
}

func TestCheckInheritanceFollowsLiveReferencesOnly(t *testing.T) {
	reborn := inheriting("reborn")
	reborn.Incarnation = 5
	gone := inheriting("gone", "a")
	gone.Deleted = true
	defs := definitionsOf(inheriting("a"), inheriting("old", "reborn"), reborn, gone)
	for role, inherits := range map[string]string{"a": "gone", "reborn": "old"} {
		if _, err := rbac.CheckInheritance(defs, roleRef(role).ID, refs(inherits)); err != nil {
			t.Errorf("%s inherits %s, which leads nowhere: %v", role, inherits, err)
		}
	}
}

func TestCheckInheritanceAsksForWhatIsMissing(t *testing.T) {
	w := chain(5)
	defs := &rbac.Definitions{}
	role, inherits := roleRef("4").ID, refs("0")
	rounds := 0
	for ; ; rounds++ {
		missing, err := rbac.CheckInheritance(defs, role, inherits)
		if err != nil {
			var cycle *rbac.RoleCycleError
			if !errors.As(err, &cycle) || len(cycle.Path) != 6 {
				t.Fatalf("%v, want the cycle of 5 roles", err)
			}
			break
		}
		if len(missing) != 1 {
			t.Fatalf("missing %v, want the next role", missing)
		}
		w.Read(defs, missing)
	}
	if rounds != 4 {
		t.Errorf("the cycle is found after reading %d roles, want 4", rounds)
	}
}

func TestCheckInheritanceLimits(t *testing.T) {
	wide := func(n int) (w *rbactest.World, names []string) {
		w = &rbactest.World{}
		for i := range n {
			names = append(names, fmt.Sprintf("w%d", i))
			w.Roles = append(w.Roles, inheriting(names[i]))
		}
		return w, names
	}
	// closureOf is a world in which the role "top" reaches n roles besides itself.
	closureOf := func(n int) *rbac.Definitions {
		w, names := wide(n - n/rbac.MaxInheritsPerRole - 1)
		var mids []string
		for i, part := range slices.Collect(slices.Chunk(names, rbac.MaxInheritsPerRole)) {
			mids = append(mids, fmt.Sprintf("m%d", i))
			w.Roles = append(w.Roles, inheriting(mids[i], part...))
		}
		w.Roles = append(w.Roles, inheriting("top", mids...))
		res := rbac.Resolve([]rbac.Assignment{{Role: roleRef("top")}}, w.Definitions())
		if len(res.Roles) != n+1 {
			t.Fatalf("the world reaches %d roles, want %d", len(res.Roles)-1, n)
		}
		return w.Definitions()
	}
	wide50, names50 := wide(rbac.MaxInheritsPerRole)
	wide51, names51 := wide(rbac.MaxInheritsPerRole + 1)
	// Under "root" hangs a chain that is as deep as allowed less one.
	deep := chain(rbac.MaxInheritanceDepth)
	deep.Roles = append(deep.Roles, inheriting("root", "0"), inheriting("loop-1", "loop-2"), inheriting("loop-2", "loop-1"))
	last := fmt.Sprint(rbac.MaxInheritanceDepth - 1)

	for _, c := range []struct {
		name     string
		defs     *rbac.Definitions
		role     string
		inherits []string
		want     *rbac.LimitError
	}{
		{"50 directly", wide50.Definitions(), "new", names50, nil},
		{"51 directly", wide51.Definitions(), "new", names51, &rbac.LimitError{Limit: "directly inherited roles", Max: 50}},
		{"32 deep", deep.Definitions(), "new", []string{"0"}, nil},
		{"33 deep", deep.Definitions(), "new", []string{"root"}, &rbac.LimitError{Limit: "inheritance depth", Max: 32}},
		{"33 deep above", deep.Definitions(), last, []string{"bottom"}, &rbac.LimitError{Limit: "inheritance depth", Max: 32, Role: roleRef("root").ID}},
		{"a cycle of others", deep.Definitions(), "new", []string{"loop-1"}, nil},
		{"closure of 200", closureOf(198), "new", []string{"top"}, nil},
		{"closure of 201", closureOf(199), "new", []string{"top"}, &rbac.LimitError{Limit: "roles in a closure", Max: 200}},
		{"closure of 201 above", closureOf(199), "w0", []string{"bottom"}, &rbac.LimitError{Limit: "roles in a closure", Max: 200, Role: roleRef("top").ID}},
	} {
		c.defs.PutRole(roleRef("bottom").ID, inheriting("bottom"))
		missing, err := rbac.CheckInheritance(c.defs, roleRef(c.role).ID, refs(c.inherits...))
		var limit *rbac.LimitError
		if err != nil && !errors.As(err, &limit) {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, limit, exact...); diff != "" || len(missing) > 0 {
			t.Errorf("%s: missing %v (-want +got)\n%s", c.name, missing, diff)
		}
	}
}

func TestLimitErrorNamesTheLimit(t *testing.T) {
	e := &rbac.LimitError{Limit: "inheritance depth", Max: 32}
	if got, want := e.Error(), "limit exceeded: inheritance depth: at most 32"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	e.Role = roleRef("top").ID
	if got, want := e.Error(), `limit exceeded: inheritance depth of role "top": at most 32`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAcceptedInheritanceStaysFree adds edges at random: one is refused exactly
// when the parent already reaches the role, and so no cycle ever comes to be.
func TestAcceptedInheritanceStaysFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const roles = 8
		w := &rbactest.World{}
		var reaches [roles][roles]bool
		for i := range roles {
			w.Roles = append(w.Roles, inheriting(fmt.Sprint(i)))
			reaches[i][i] = true
		}
		for range 30 {
			from, to := rapid.IntRange(0, roles-1).Draw(t, "role"), rapid.IntRange(0, roles-1).Draw(t, "inherits")
			role := w.Roles[from]
			wish := append(slices.Clone(role.Inherits), roleRef(fmt.Sprint(to)))
			_, err := rbac.CheckInheritance(w.Definitions(), role.ID, wish)
			if refused := err != nil; refused != reaches[to][from] {
				t.Fatalf("%d inherits %d: %v", from, to, err)
			}
			if err != nil {
				continue
			}
			role.Inherits = wish
			for i := range roles {
				for j := range roles {
					reaches[i][j] = reaches[i][j] || (reaches[i][from] && reaches[to][j])
				}
			}
		}
	})
}

package rbac_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wardenhq/warden/shared/rbac"
)

// orderedAssignments are in the order that SortAssignments makes.
func orderedAssignments() []rbac.Assignment {
	mapping := func(id string) rbac.Source { return rbac.Source{Kind: rbac.SourceMapping, ID: id, Incarnation: 1} }
	return []rbac.Assignment{
		{Role: roleRef("Z"), Source: rbac.Direct()},
		{Role: roleRef("a"), Source: rbac.Source{Kind: rbac.SourceApproval, ID: "z"}},
		{Role: roleRef("a"), Source: rbac.Direct(), Expiry: rbac.ExpiresAt(time.Unix(1, 2))},
		{Role: roleRef("a"), Source: mapping("m")},
		{Role: roleRef("a"), Source: mapping("n")},
		{Role: roleRef("b"), Source: rbac.Direct()},
	}
}

func TestSortAssignments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got := rapid.Permutation(orderedAssignments()).Draw(t, "as asked")
		rbac.SortAssignments(got)
		if diff := cmp.Diff(orderedAssignments(), got, exact...); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	})
}

func TestSameAssignments(t *testing.T) {
	if !rbac.SameAssignments(orderedAssignments(), orderedAssignments()) || !rbac.SameAssignments(nil, []rbac.Assignment{}) {
		t.Error("the same are not the same")
	}
	for name, change := range map[string]func(as []rbac.Assignment) []rbac.Assignment{
		"one less":            func(as []rbac.Assignment) []rbac.Assignment { return as[1:] },
		"another order":       func(as []rbac.Assignment) []rbac.Assignment { as[0], as[1] = as[1], as[0]; return as },
		"another incarnation": func(as []rbac.Assignment) []rbac.Assignment { as[0].Role.Incarnation++; return as },
		"another source":      func(as []rbac.Assignment) []rbac.Assignment { as[3].Source.Incarnation++; return as },
		"a nanosecond more": func(as []rbac.Assignment) []rbac.Assignment {
			as[2].Expiry = rbac.ExpiresAt(time.Unix(1, 3))
			return as
		},
		"an end where was none":  func(as []rbac.Assignment) []rbac.Assignment { as[0].Expiry = rbac.ExpiresAt(time.Time{}); return as },
		"no end where there was": func(as []rbac.Assignment) []rbac.Assignment { as[2].Expiry = rbac.Expiry{}; return as },
		"the role, not its twin": func(as []rbac.Assignment) []rbac.Assignment { as[1].Role = roleRef("A"); return as },
	} {
		if rbac.SameAssignments(orderedAssignments(), change(orderedAssignments())) {
			t.Errorf("%s: still the same", name)
		}
	}
}

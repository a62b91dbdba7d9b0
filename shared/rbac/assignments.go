package rbac

import (
	"cmp"
	"slices"
)

// SortAssignments orders by role and source: the order of a request says nothing.
func SortAssignments(as []Assignment) {
	slices.SortFunc(as, func(a, b Assignment) int {
		return cmp.Or(cmp.Compare(a.Role.ID.s, b.Role.ID.s), cmp.Compare(a.Source.String(), b.Source.String()))
	})
}

// SameAssignments says whether both are the same, in the same order.
func SameAssignments(a, b []Assignment) bool {
	return slices.EqualFunc(a, b, func(x, y Assignment) bool {
		return x.Role == y.Role && x.Source == y.Source && x.Expiry.Equal(y.Expiry)
	})
}

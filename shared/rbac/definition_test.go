package rbac_test

import (
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

func TestExpiryOrder(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	ordered := []rbac.Expiry{
		rbac.ExpiresAt(time.Time{}),
		rbac.ExpiresAt(at),
		rbac.ExpiresAt(at.Add(1)),
		rbac.ExpiresAt(time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)),
		{},
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := a.Compare(b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%v compared with %v: %d", a, b, got)
			}
			if a.Equal(b) != (i == j) {
				t.Errorf("%v equal to %v: %v", a, b, a.Equal(b))
			}
			if got := a.Later(b); got != ordered[max(i, j)] {
				t.Errorf("later of %v and %v: %v", a, b, got)
			}
		}
		if a.Never() != (i == len(ordered)-1) {
			t.Errorf("%v never ends: %v", a, a.Never())
		}
		if !a.Never() && (a.InForce(a.Time()) || !a.InForce(a.Time().Add(-1))) {
			t.Errorf("%v does not end at its instant", a)
		}
	}
}

func TestExpiryIsAnInstant(t *testing.T) {
	west := time.Date(2026, 2, 28, 19, 0, 0, 0, time.FixedZone("", -5*3600))
	if a, b := rbac.ExpiresAt(west), rbac.ExpiresAt(west.UTC()); a != b {
		t.Errorf("%v differs from %v by the zone it is written in", a, b)
	}
}

func TestSourceIsShownAsInTheContract(t *testing.T) {
	for want, s := range map[string]rbac.Source{
		"direct":       rbac.Direct(),
		"mapping:m:1":  {Kind: rbac.SourceMapping, ID: "m:1", Incarnation: 4},
		"approval:a#2": {Kind: rbac.SourceApproval, ID: "a#2"},
	} {
		if got := s.String(); got != want {
			t.Errorf("%+v is shown as %q, want %q", s, got, want)
		}
	}
	if got := (rbac.Source{}).String(); got != "direct" {
		t.Errorf("the zero source is shown as %q, want direct", got)
	}
}

func TestDefinitionsKnowWhatWasRead(t *testing.T) {
	p, r, m := rbac.Must(rbac.ParsePermissionID("x")), rbac.Must(rbac.ParseRoleID("x")), rbac.Must(rbac.ParseMappingID("x"))
	defs := &rbac.Definitions{}
	expect := func(step string, permission, role, mapping bool) {
		t.Helper()
		_, knownPermission := defs.Permission(p)
		_, knownRole := defs.Role(r)
		_, knownMapping := defs.Mapping(m)
		if knownPermission != permission || knownRole != role || knownMapping != mapping {
			t.Errorf("%s: known are permission %v, role %v, mapping %v", step, knownPermission, knownRole, knownMapping)
		}
	}
	expect("nothing read", false, false, false)
	defs.PutPermission(p, nil)
	expect("permission absent", true, false, false)
	defs.PutRole(r, &rbac.Role{ID: r})
	expect("role read", true, true, false)
	defs.PutMapping(m, nil)
	expect("mapping absent", true, true, true)
	if got, _ := defs.Role(r); got == nil || got.ID != r {
		t.Errorf("the role that was put in is %v", got)
	}
}

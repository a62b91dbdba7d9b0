package rbac_test

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/wardenhq/warden/shared/rbac"
)

func TestDefinitionID(t *testing.T) {
	p, r, m := rbac.Must(rbac.ParsePermissionID("a:b")), rbac.Must(rbac.ParseRoleID("a:b")), rbac.Must(rbac.ParseMappingID("a:b"))
	type parts struct{ permission, role, mapping bool }
	for _, c := range []struct {
		d    rbac.DefinitionID
		kind rbac.DefinitionKind
		is   parts
	}{
		{rbac.OfMapping(m), rbac.KindMapping, parts{mapping: true}},
		{rbac.OfPermission(p), rbac.KindPermission, parts{permission: true}},
		{rbac.OfRole(r), rbac.KindRole, parts{role: true}},
		{rbac.StoredDefinitionID(rbac.KindConstraint, "a:b"), rbac.KindConstraint, parts{}},
	} {
		gotP, isP := c.d.Permission()
		gotR, isR := c.d.Role()
		gotM, isM := c.d.Mapping()
		if (parts{isP, isR, isM}) != c.is || (isP && gotP != p) || (isR && gotR != r) || (isM && gotM != m) {
			t.Errorf("%s is a permission %v, a role %v, a mapping %v", c.d, isP, isR, isM)
		}
		if c.d.Kind() != c.kind || c.d.ID() != "a:b" || c.d.IsZero() || c.d.String() != string(c.kind)+":a:b" {
			t.Errorf("%s: kind %s, id %s", c.d, c.d.Kind(), c.d.ID())
		}
		sum := sha256.Sum256([]byte(string(c.kind) + "\x00a:b"))
		if got, want := c.d.Hash(), binary.BigEndian.Uint64(sum[:]); got != want {
			t.Errorf("hash of %s is %x, want %x", c.d, got, want)
		}
		if c.d != rbac.StoredDefinitionID(c.d.Kind(), c.d.ID()) {
			t.Errorf("%s is another one after it was stored", c.d)
		}
	}
	if !(rbac.DefinitionID{}).IsZero() {
		t.Error("the zero value names something")
	}
	if rbac.OfMapping(m).Compare(rbac.OfRole(r)) >= 0 || rbac.OfRole(roleRef("b").ID).Compare(rbac.OfRole(r)) <= 0 {
		t.Error("the order is not by kind, then by id")
	}
}

package rbac

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
)

// DefinitionKind is a kind of definition.
type DefinitionKind string

// The kinds of definitions.
const (
	KindPermission DefinitionKind = "permission"
	KindRole       DefinitionKind = "role"
	KindMapping    DefinitionKind = "mapping"
	KindConstraint DefinitionKind = "constraint"
)

// DefinitionID names one definition of a scope. It is comparable; the zero
// value names none.
type DefinitionID struct {
	kind DefinitionKind
	id   string
}

// OfPermission names a permission's definition.
func OfPermission(id PermissionID) DefinitionID { return DefinitionID{KindPermission, id.s} }

// OfRole names a role's definition.
func OfRole(id RoleID) DefinitionID { return DefinitionID{KindRole, id.s} }

// OfMapping names a group mapping's definition.
func OfMapping(id MappingID) DefinitionID { return DefinitionID{KindMapping, id.s} }

// StoredDefinitionID rebuilds a name from its stored kind and id.
func StoredDefinitionID(kind DefinitionKind, id string) DefinitionID { return DefinitionID{kind, id} }

// Kind is the definition's kind.
func (d DefinitionID) Kind() DefinitionKind { return d.kind }

// ID is the definition's id without its kind.
func (d DefinitionID) ID() string { return d.id }

// Permission is the id of a permission; ok is false for other kinds.
func (d DefinitionID) Permission() (id PermissionID, ok bool) {
	return PermissionID{s: d.id}, d.kind == KindPermission
}

// Role is the id of a role; ok is false for other kinds.
func (d DefinitionID) Role() (id RoleID, ok bool) { return RoleID{s: d.id}, d.kind == KindRole }

// Mapping is the id of a group mapping; ok is false for other kinds.
func (d DefinitionID) Mapping() (id MappingID, ok bool) {
	return MappingID{s: d.id}, d.kind == KindMapping
}

// IsZero says whether it names no definition.
func (d DefinitionID) IsZero() bool { return d == DefinitionID{} }

func (d DefinitionID) String() string { return string(d.kind) + ":" + d.id }

// Compare orders by kind, then by id, both by bytes.
func (d DefinitionID) Compare(o DefinitionID) int {
	return cmp.Or(cmp.Compare(d.kind, o.kind), cmp.Compare(d.id, o.id))
}

// Hash is the name as documents and HEAD keep it: the first 8 bytes of SHA-256,
// so that a tenant who chooses ids can't make two of them meet. If two met all
// the same, a document would count as stale without need, never as fresh.
func (d DefinitionID) Hash() uint64 {
	b := make([]byte, 0, len(KindPermission)+1+MaxID)
	b = append(b, d.kind...)
	b = append(b, 0)
	b = append(b, d.id...)
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:8])
}

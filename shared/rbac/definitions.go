package rbac

// Definitions are definitions of one scope, all read at one revision. What was
// not read yet is not known; what was read and is not there, or only its
// tombstone, is known and absent. It is filled by one goroutine; the
// definitions it points to are shared and never changed.
type Definitions struct {
	permissions map[PermissionID]*Permission
	roles       map[RoleID]*Role
	mappings    map[MappingID]*Mapping
}

// Permission is the definition, nil when it is absent; known is false when it was not read.
func (d *Definitions) Permission(id PermissionID) (p *Permission, known bool) {
	p, known = d.permissions[id]
	return p, known
}

// Role is the definition, nil when it is absent; known is false when it was not read.
func (d *Definitions) Role(id RoleID) (r *Role, known bool) {
	r, known = d.roles[id]
	return r, known
}

// Mapping is the definition, nil when it is absent; known is false when it was not read.
func (d *Definitions) Mapping(id MappingID) (m *Mapping, known bool) {
	m, known = d.mappings[id]
	return m, known
}

// PutPermission adds what was read: nil for absent. A tombstone counts as absent
// to every reference, and is kept, for its incarnation.
func (d *Definitions) PutPermission(id PermissionID, p *Permission) {
	if d.permissions == nil {
		d.permissions = make(map[PermissionID]*Permission)
	}
	d.permissions[id] = p
}

// PutRole adds what was read: nil for absent.
func (d *Definitions) PutRole(id RoleID, r *Role) {
	if d.roles == nil {
		d.roles = make(map[RoleID]*Role)
	}
	d.roles[id] = r
}

// PutMapping adds what was read: nil for absent.
func (d *Definitions) PutMapping(id MappingID, m *Mapping) {
	if d.mappings == nil {
		d.mappings = make(map[MappingID]*Mapping)
	}
	d.mappings[id] = m
}

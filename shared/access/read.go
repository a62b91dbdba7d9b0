package access

import (
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

// An assignment.
const (
	assignmentRole              = 0 // texts
	assignmentSource            = 2 // none for no id
	assignmentKind              = 4 // index of sourceKinds
	assignmentEnds              = 5 // 1: there is an expiry
	assignmentRoleIncarnation   = 8
	assignmentSourceIncarnation = 16
	assignmentSeconds           = 24 // of the expiry since 1970
	assignmentNanos             = 32 // within the second
)

// A reach: how the subject comes to a role.
const (
	reachRole    = 0 // text
	reachParent  = 2 // index of an earlier reach; none: the role is assigned itself
	reachInstant = 4
)

// An entry: one permission of a cell by one role.
const (
	entryPermission = 0 // text; none: the usual id, `resource:action`
	entryReach      = 2 // index of a reach, and entryDeny
	entryDeny       = 1 << 15
)

var sourceKinds = []rbac.SourceKind{rbac.SourceDirect, rbac.SourceMapping, rbac.SourceApproval}

// Assignments are the subject's, in the order they were encoded. Error: ErrCorrupt.
func (v *View) Assignments() ([]rbac.Assignment, error) {
	out := make([]rbac.Assignment, 0, len(v.assignments)/assignmentBytes)
	for b := range slices.Chunk(v.assignments, assignmentBytes) {
		a, err := v.assignment(b)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func (v *View) assignment(b []byte) (a rbac.Assignment, err error) {
	if a.Role.ID, err = parse(v, u16(b[assignmentRole:]), rbac.ParseRoleID); err != nil {
		return a, err
	}
	a.Role.Incarnation = rbac.Incarnation(u64(b[assignmentRoleIncarnation:]))
	kind := int(b[assignmentKind])
	if kind >= len(sourceKinds) {
		return a, ErrCorrupt
	}
	a.Source.Kind = sourceKinds[kind]
	a.Source.Incarnation = rbac.Incarnation(u64(b[assignmentSourceIncarnation:]))
	if at := u16(b[assignmentSource:]); at != none {
		id, ok := v.text(at)
		if !ok {
			return a, ErrCorrupt
		}
		a.Source.ID = string(id)
	}
	if b[assignmentEnds] == 0 {
		return a, nil
	}
	nanos := int64(u32(b[assignmentNanos:]))
	if nanos >= int64(time.Second) {
		return a, ErrCorrupt
	}
	a.Expiry = rbac.ExpiresAt(time.Unix(int64(u64(b[assignmentSeconds:])), nanos))
	return a, nil
}

// Explain is Decide with all that matches, as rbac.Resolution.Explain does it.
// Errors: ErrNoGrants, ErrCorrupt.
func (v *View) Explain(q rbac.Question, now time.Time) (rbac.Decision, error) {
	d := rbac.Decision{Matched: []rbac.Match{}}
	var err error
	if d.Reason, err = v.Decide(q, now); err != nil || d.Reason == rbac.ReasonNoPolicy {
		return d, err
	}
	ps, n := v.patterns(q)
	for i, p := range ps[:n] {
		if slices.ContainsFunc(ps[:i], func(o pattern) bool { return o == p }) {
			continue
		}
		cell, err := v.find(&ps[i])
		if err == nil && cell != noCell {
			d.Matched, err = v.matches(d.Matched, cell, &ps[i], instantOf(now))
		}
		if err != nil {
			return rbac.Decision{}, err
		}
	}
	slices.SortFunc(d.Matched, rbac.CompareMatches)
	return d, nil
}

// matches adds the entries of a cell that are in force.
func (v *View) matches(out []rbac.Match, cell int, p *pattern, now instant) ([]rbac.Match, error) {
	count := len(v.entries) / entryBytes
	from, to := int(u16(v.cell(cell)[cellEntries:])), count
	if (cell+1)*cellBytes < len(v.cells) {
		to = int(u16(v.cell(cell + 1)[cellEntries:]))
	}
	if from > to || to > count {
		return nil, ErrCorrupt
	}
	for b := range slices.Chunk(v.entries[from*entryBytes:to*entryBytes], entryBytes) {
		m := rbac.Match{Effect: rbac.Allow}
		reach := u16(b[entryReach:])
		if reach&entryDeny != 0 {
			m.Effect = rbac.Deny
		}
		r, err := v.reach(reach &^ entryDeny)
		if err != nil {
			return nil, err
		}
		inForce, ok := v.before(now, u16(r[reachInstant:]))
		if !ok {
			return nil, ErrCorrupt
		}
		if !inForce {
			continue
		}
		if m.Permission, err = v.permission(u16(b[entryPermission:]), p); err != nil {
			return nil, err
		}
		if m.Role, m.Via, err = v.path(reach &^ entryDeny); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func (v *View) permission(at uint16, p *pattern) (rbac.PermissionID, error) {
	if at != none {
		return parse(v, at, rbac.ParsePermissionID)
	}
	id, err := rbac.ParsePermissionID(usualID(p.resource, p.action))
	if err != nil {
		return id, ErrCorrupt
	}
	return id, nil
}

func usualID(resource, action string) string { return resource + ":" + action }

func (v *View) reach(i uint16) ([]byte, error) {
	at := int(i) * reachBytes
	if at >= len(v.reaches) {
		return nil, ErrCorrupt
	}
	return v.reaches[at:][:reachBytes], nil
}

// path is the assigned role and the roles inherited on the way. Parents have
// lower numbers, or it would not end.
func (v *View) path(i uint16) (role rbac.RoleID, via []rbac.RoleID, err error) {
	via = []rbac.RoleID{}
	for {
		r, err := v.reach(i)
		if err != nil {
			return role, nil, err
		}
		if role, err = parse(v, u16(r[reachRole:]), rbac.ParseRoleID); err != nil {
			return role, nil, err
		}
		parent := u16(r[reachParent:])
		if parent == none {
			slices.Reverse(via)
			return role, via, nil
		}
		if parent >= i {
			return role, nil, ErrCorrupt
		}
		via = append(via, role)
		i = parent
	}
}

// parse reads a text as an id.
func parse[T any](v *View, at uint16, as func(string) (T, error)) (T, error) {
	b, ok := v.text(at)
	if !ok {
		return *new(T), ErrCorrupt
	}
	id, err := as(string(b))
	if err != nil {
		return *new(T), ErrCorrupt
	}
	return id, nil
}

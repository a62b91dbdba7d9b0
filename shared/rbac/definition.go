// Package rbac is Warden's domain, pure: ids, definitions, assignments, and the
// rule by which they answer a question. It does no I/O and reads no clock.
//
// Definitions are what the subjects of a scope share (permissions, roles,
// group mappings); assignments are what one subject holds. Deny wins.
package rbac

import "time"

// Effect of a permission.
type Effect string

// The effects. Deny wins over every allow, inherited or not.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// Incarnation tells two definitions apart that had the same id one after the
// other: it is the scope's revision at which the definition was created, and a
// reference to one incarnation gives nothing from another.
type Incarnation uint64

// Revision counts the definition writes of a scope, from 1.
type Revision uint64

// State is what every definition carries besides its content.
type State struct {
	Incarnation Incarnation `json:"incarnation"`
	Revision    Revision    `json:"revision"`         // the write that made this content
	Deleted     bool        `json:"deleted,omitzero"` // a tombstone: counts as absent
}

// Tombstone says whether this is what a deleted definition left.
func (s State) Tombstone() bool { return s.Deleted }

// Live says whether a reference to the incarnation reaches this definition.
func (s State) Live(ref Incarnation) bool { return !s.Deleted && s.Incarnation == ref }

// Permission allows or denies an action on a resource. `*` as the whole
// resource or the whole action matches every name; `inv*` is a plain name.
type Permission struct {
	ID       PermissionID `json:"id"`
	Resource ResourceID   `json:"resource,omitzero"` // of a tombstone: none
	Action   ActionID     `json:"action,omitzero"`   // of a tombstone: none
	Effect   Effect       `json:"effect"`
	State
}

// Matches says whether the permission speaks about the question.
func (p *Permission) Matches(q Question) bool {
	return (p.Resource.s == Wildcard || p.Resource == q.Resource) &&
		(p.Action.s == Wildcard || p.Action == q.Action)
}

// PermissionRef names one incarnation of a permission.
type PermissionRef struct {
	ID          PermissionID `json:"id"`
	Incarnation Incarnation  `json:"incarnation"`
}

// RoleRef names one incarnation of a role.
type RoleRef struct {
	ID          RoleID      `json:"id"`
	Incarnation Incarnation `json:"incarnation"`
}

// Role grants its permissions and all that its parents grant, however deep.
type Role struct {
	ID          RoleID          `json:"id"`
	Permissions []PermissionRef `json:"permissions"`
	Inherits    []RoleRef       `json:"inherits"`
	State
}

// Mapping turns membership in a group into a role. An assignment that came by
// a mapping counts while that incarnation of the mapping lives.
type Mapping struct {
	ID   MappingID `json:"id"`
	Role RoleRef   `json:"role"`
	State
}

// SourceKind says how an assignment came about.
type SourceKind string

// The sources of assignments.
const (
	SourceDirect   SourceKind = "direct"
	SourceMapping  SourceKind = "mapping"
	SourceApproval SourceKind = "approval"
)

// Source is how an assignment came about: `direct`, `mapping:ID` or `approval:ID`.
type Source struct {
	Kind        SourceKind
	ID          string      // of the mapping or approval; empty for direct
	Incarnation Incarnation // of the mapping; 0 otherwise
}

// Direct is the source of assignments written by hand.
func Direct() Source { return Source{Kind: SourceDirect} }

// String is the contract's form of a source.
func (s Source) String() string {
	if s.Kind == SourceDirect || s.Kind == "" {
		return string(SourceDirect)
	}
	return string(s.Kind) + ":" + s.ID
}

// Assignment gives a subject one incarnation of a role, from one source, until
// an instant or for good.
type Assignment struct {
	Role   RoleRef
	Source Source
	Expiry Expiry
}

// Expiry is the instant at which an assignment is over; the zero value is never.
// The assignment counts strictly before it.
type Expiry struct {
	at   time.Time
	ends bool // apart from at, as every instant can be an end: the zero time too
}

// ExpiresAt is an expiry at that instant.
func ExpiresAt(t time.Time) Expiry { return Expiry{at: t.UTC().Round(0), ends: true} }

// Never says whether there is no end.
func (e Expiry) Never() bool { return !e.ends }

// Time is the instant, the zero time for never.
func (e Expiry) Time() time.Time { return e.at }

// InForce says whether something with this expiry counts at the instant now.
func (e Expiry) InForce(now time.Time) bool { return !e.ends || now.Before(e.at) }

// Compare is negative when e is over before o, positive when after; never is
// after everything.
func (e Expiry) Compare(o Expiry) int {
	switch {
	case e.ends && o.ends:
		return e.at.Compare(o.at)
	case e.ends:
		return -1
	case o.ends:
		return 1
	}
	return 0
}

// Equal says whether both are over at the same instant, or never.
func (e Expiry) Equal(o Expiry) bool { return e.Compare(o) == 0 }

// Later is the one that lasts longer.
func (e Expiry) Later(o Expiry) Expiry {
	if e.Compare(o) > 0 {
		return e
	}
	return o
}

// Question asks whether a subject may do an action on a resource; the subject
// and scope are implied by whose assignments are asked. A `*` in a question is
// a plain name.
type Question struct {
	Resource ResourceID
	Action   ActionID
}

// Reason is why a question was answered as it was (api.md, "Access decisions").
type Reason string

// The reasons.
const (
	ReasonAllowed   Reason = "allowed"
	ReasonDenied    Reason = "explicit-deny"
	ReasonNoMatch   Reason = "no-matching-permission"
	ReasonNoPolicy  Reason = "no-policy"
	ReasonUndecided Reason = "" // the zero value; never an answer
)

// Allowed says whether the reason stands for a yes; every other reason is a no.
func (r Reason) Allowed() bool { return r == ReasonAllowed }

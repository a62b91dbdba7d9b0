// Package entity holds what is stored: one plain struct for each kind of item,
// as its Body's JSON. The catalogue of entities, their keys and access patterns
// is shared/DOMAIN_MODELS.md. These are not the API's types: a stored layout
// and a public contract change on different clocks.
package entity

import (
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

// Format is the layout version of every Body in this package.
const Format = 1

// OrgStatus is where an org is in its life.
type OrgStatus string

// The states of an org.
const (
	OrgActive   OrgStatus = "active"
	OrgDeleting OrgStatus = "deleting" // marked; contents are purged after
)

// Org is a tenant: it owns scopes, keys and members.
type Org struct {
	ID                 rbac.OrgID `json:"id"`
	Name               string     `json:"name"` // unique over all orgs
	Status             OrgStatus  `json:"status"`
	AuditRetentionDays int        `json:"audit_retention_days"`
	Scopes             int        `json:"scopes"`   // how many there are; every creation and deletion conditions the item's version
	APIKeys            int        `json:"api_keys"` // how many there are
	Edition            uint64     `json:"edition"`  // the version that callers see: the counts above don't change it
	EditedAt           time.Time  `json:"edited_at"`
}

// Unique takes a globally unique value for its owner.
type Unique struct {
	Owner rbac.OrgID `json:"owner"`
}

// Scope is a tenant's own namespace of definitions and policies.
type Scope struct {
	ID          rbac.ScopeID `json:"id"`
	Org         rbac.OrgID   `json:"org"`
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	Deleting    bool         `json:"deleting,omitzero"`
	PurgeAfter  time.Time    `json:"purge_after,omitzero"` // once the fences were raised: when the contents may go
	Webhooks    int          `json:"webhooks,omitzero"`    // how many there are; every creation and deletion conditions the scope's version
	Edition     uint64       `json:"edition"`              // the version that callers see: the counts don't change it
	EditedAt    time.Time    `json:"edited_at"`
}

// Fence has a version and nothing else (design rule 6).
type Fence struct{}

// Head stands for the item of package head, which has a binary layout.
type Head struct{}

// Permission is a definition.
type Permission struct {
	rbac.Permission
	Description string `json:"description,omitempty"`
}

// Role is a definition.
type Role struct {
	rbac.Role
	Name              string           `json:"name,omitempty"`
	Description       string           `json:"description,omitempty"`
	Approvers         []rbac.SubjectID `json:"approvers,omitempty"`
	RequiredApprovals int              `json:"required_approvals,omitzero"`
}

// GroupMapping is a definition of the scope it names.
type GroupMapping struct {
	rbac.Mapping
	Scope rbac.ScopeID `json:"scope"`
	Group string       `json:"group"`
}

// Policy is what one subject holds in one scope.
type Policy struct {
	Subject     rbac.SubjectID `json:"subject"`
	Assignments []Assignment   `json:"assignments"`
}

// Assignment is one role held, as stored.
type Assignment struct {
	Role              rbac.RoleID      `json:"role"`
	Incarnation       rbac.Incarnation `json:"incarnation"`
	SourceKind        rbac.SourceKind  `json:"source"`
	SourceID          string           `json:"source_id,omitempty"`
	SourceIncarnation rbac.Incarnation `json:"source_incarnation,omitzero"`
	ExpiresAt         *time.Time       `json:"expires_at,omitempty"`
}

// RoleMember says that a subject holds a role, from whatever source.
type RoleMember struct {
	Subject     rbac.SubjectID   `json:"subject"`
	Incarnation rbac.Incarnation `json:"incarnation"`          // of the role; members of an older one hold nothing
	ExpiresAt   *time.Time       `json:"expires_at,omitempty"` // the latest of its assignments to the role; nil: one of them never ends
}

// SubjectScope says that a subject has a policy in a scope.
type SubjectScope struct {
	Scope rbac.ScopeID `json:"scope"`
}

// Access stands for the document of package access, which has a binary layout.
type Access struct{}

// Right is one thing an API key or member may do on the API.
type Right string

// The rights of API keys; members have sets of them by their role.
const (
	RightCheck      Right = "access:check"
	RightAdminRead  Right = "admin:read"
	RightAdminWrite Right = "admin:write"
	RightAuditRead  Right = "audit:read"
	RightWebhooks   Right = "webhooks:manage"
	RightSCIMManage Right = "scim:manage"
)

// AllRights are the rights that an API key can carry.
var AllRights = []Right{RightCheck, RightAdminRead, RightAdminWrite, RightAuditRead, RightWebhooks, RightSCIMManage}

// APIKey lets a program in. Of its secrets only SHA-256 hashes are stored.
type APIKey struct {
	ID          rbac.APIKeyID  `json:"id"`
	Org         rbac.OrgID     `json:"org"`
	Name        string         `json:"name"`
	Permissions []Right        `json:"permissions"`
	Scopes      []rbac.ScopeID `json:"scopes,omitempty"` // empty: every scope of the org
	Hash        []byte         `json:"hash"`
	ExpiresAt   *time.Time     `json:"expires_at,omitempty"`
	CreatedBy   string         `json:"created_by"`
	Previous    []PastSecret   `json:"previous,omitempty"` // the secrets before rotations, the newest last
}

// PastSecret is a secret that a rotation replaced and that works for a while yet.
type PastSecret struct {
	Hash  []byte    `json:"hash"`
	Until time.Time `json:"until"` // when it ends
}

// PreviousEnd is when the last of the previous secrets ends; nil: there is none.
func (k *APIKey) PreviousEnd() *time.Time {
	var last *time.Time
	for i := range k.Previous {
		if end := &k.Previous[i].Until; last == nil || end.After(*last) {
			last = end
		}
	}
	return last
}

// OperatorKey lets the operator in. It may do everything in every org.
type OperatorKey struct {
	ID   rbac.APIKeyID `json:"id"`
	Hash []byte        `json:"hash"`
}

// MemberRole is what a member may do on the admin API.
type MemberRole string

// The roles of members, each with the rights of the one before and more.
const (
	MemberViewer MemberRole = "viewer"
	MemberAdmin  MemberRole = "admin"
	MemberOwner  MemberRole = "owner"
)

// Member is a person who may use the admin API.
type Member struct {
	User  rbac.SubjectID `json:"user"`
	Email string         `json:"email,omitempty"`
	Role  MemberRole     `json:"role"`
}

// Event stands for an outbox item; its Body is events.Stored.
type Event struct{}

// Idempotency remembers the answer to a POST for 24 hours.
type Idempotency struct {
	Asked   []byte    `json:"asked"`   // digest of the request
	Holder  string    `json:"holder"`  // the event id of the request that claimed the key last
	Started time.Time `json:"started"` // when it did
	Done    bool      `json:"done,omitzero"`
	Answer  []byte    `json:"answer,omitempty"`
	Sealed  bool      `json:"sealed,omitzero"` // Answer is encrypted under a key only the caller can derive
}

// Phase is where a fan-out is (design rule 7).
type Phase string

// The phases of a fan-out, in their order.
const (
	PhaseFirst  Phase = "first"  // every holder's document is brought up
	PhaseFences Phase = "fences" // assignments in flight are made to start again
	PhaseSecond Phase = "second" // holders are listed once more and brought up
	PhasePrune  Phase = "prune"  // the entry leaves flux
)

// Recompute is the progress of one definition's fan-out.
type Recompute struct {
	Scope       rbac.ScopeID        `json:"scope"`
	Incarnation uint64              `json:"incarnation"`
	Kind        rbac.DefinitionKind `json:"kind,omitempty"` // of the definition; empty: all of them
	ID          string              `json:"id,omitempty"`
	Name        uint64              `json:"name"`
	Revision    rbac.Revision       `json:"revision"` // of the entry in flux
	Since       time.Time           `json:"since"`    // of the entry
	Phase       Phase               `json:"phase"`
	NotBefore   time.Time           `json:"not_before,omitzero"` // when the phase may begin
	Everyone    bool                `json:"everyone,omitzero"`   // all policies are listed
	Roles       []rbac.RoleID       `json:"roles,omitempty"`     // whose members are still to be listed
	Cursor      string              `json:"cursor,omitempty"`    // in the first of them
	Listed      bool                `json:"listed,omitzero"`     // Everyone and Roles are set for this pass
	Seen        int                 `json:"seen"`                // holders looked at
	Written     int                 `json:"written"`             // documents written
	Started     time.Time           `json:"started"`
}

// Task remembers when an hourly task last ran.
type Task struct {
	LastRun time.Time `json:"last_run"`
}

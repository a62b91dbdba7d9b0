// Package resource is how the API shows what is stored. Answers and the before
// and after of events use the same forms.
package resource

import (
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
)

// Stamp is what every resource carries.
type Stamp struct {
	Version   uint64       `json:"version"`
	CreatedAt instant.Time `json:"created_at"`
	UpdatedAt instant.Time `json:"updated_at"`
}

// At is the resource's version, for its ETag.
func (s Stamp) At() uint64 { return s.Version }

// StampOf is an item's stamp.
func StampOf(it *table.Item) Stamp {
	return Stamp{it.Version, instant.At(it.CreatedAt), instant.At(it.UpdatedAt)}
}

// Org is a tenant.
type Org struct {
	ID                 rbac.OrgID       `json:"id"`
	Name               string           `json:"name"`
	Status             entity.OrgStatus `json:"status"`
	AuditRetentionDays int              `json:"audit_retention_days"`
	Stamp
}

// OfOrg shows an org.
func OfOrg(it *table.Item, e entity.Org) Org {
	s := StampOf(it)
	s.Version, s.UpdatedAt = e.Edition, instant.At(e.EditedAt)
	return Org{e.ID, e.Name, e.Status, e.AuditRetentionDays, s}
}

// Scope is a namespace of definitions and policies.
type Scope struct {
	ID          rbac.ScopeID `json:"id"`
	Org         rbac.OrgID   `json:"org"`
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	Stamp
}

// OfScope shows a scope.
func OfScope(it *table.Item, e entity.Scope) Scope {
	s := StampOf(it)
	s.Version, s.UpdatedAt = e.Edition, instant.At(e.EditedAt)
	return Scope{e.ID, e.Org, e.Name, e.Description, s}
}

// Permission is a definition.
type Permission struct {
	ID          rbac.PermissionID `json:"id"`
	Resource    rbac.ResourceID   `json:"resource"`
	Action      rbac.ActionID     `json:"action"`
	Effect      rbac.Effect       `json:"effect"`
	Description string            `json:"description,omitempty"`
	Stamp
}

// OfPermission shows a permission.
func OfPermission(it *table.Item, e entity.Permission) Permission {
	return Permission{e.ID, e.Resource, e.Action, e.Effect, e.Description, StampOf(it)}
}

// Role is a definition.
type Role struct {
	ID                rbac.RoleID         `json:"id"`
	Name              string              `json:"name,omitempty"`
	Description       string              `json:"description,omitempty"`
	Permissions       []rbac.PermissionID `json:"permissions"`
	Inherits          []rbac.RoleID       `json:"inherits"`
	Approvers         []rbac.SubjectID    `json:"approvers,omitempty"`
	RequiredApprovals int                 `json:"required_approvals"`
	Stamp
}

// OfRole shows a role.
func OfRole(it *table.Item, e entity.Role) Role {
	r := Role{
		ID: e.ID, Name: e.Name, Description: e.Description,
		Permissions: make([]rbac.PermissionID, len(e.Permissions)), Inherits: make([]rbac.RoleID, len(e.Inherits)),
		Approvers: e.Approvers, RequiredApprovals: e.RequiredApprovals, Stamp: StampOf(it),
	}
	for i, p := range e.Permissions {
		r.Permissions[i] = p.ID
	}
	for i, p := range e.Inherits {
		r.Inherits[i] = p.ID
	}
	return r
}

// Assignment is a role that a subject holds.
type Assignment struct {
	Role      rbac.RoleID  `json:"role"`
	ExpiresAt instant.Time `json:"expires_at,omitzero"`
	Source    string       `json:"source"` // direct, mapping:ID or approval:ID
}

// Policy is what a subject holds.
type Policy struct {
	Subject rbac.SubjectID `json:"subject"`
	Roles   []Assignment   `json:"roles"`
	Stamp
}

// OfPolicy shows a policy.
func OfPolicy(it *table.Item, e entity.Policy) Policy {
	p := Policy{Subject: e.Subject, Roles: make([]Assignment, len(e.Assignments)), Stamp: StampOf(it)}
	for i, a := range e.Assignments {
		p.Roles[i] = Assignment{a.Role, instant.OrNone(a.ExpiresAt), rbac.Source{Kind: a.SourceKind, ID: a.SourceID}.String()}
	}
	return p
}

// RoleSubject is a subject that holds a role.
type RoleSubject struct {
	Subject   rbac.SubjectID `json:"subject"`
	ExpiresAt instant.Time   `json:"expires_at,omitzero"`
}

// OfRoleMember shows a holder.
func OfRoleMember(e entity.RoleMember) RoleSubject {
	return RoleSubject{e.Subject, instant.OrNone(e.ExpiresAt)}
}

// APIKey is a key, without its secret.
type APIKey struct {
	ID            rbac.APIKeyID  `json:"id"`
	Name          string         `json:"name"`
	Permissions   []entity.Right `json:"permissions"`
	Scopes        []rbac.ScopeID `json:"scopes,omitempty"` // left out: every scope of the org
	ExpiresAt     instant.Time   `json:"expires_at,omitzero"`
	PreviousUntil instant.Time   `json:"previous_until,omitzero"` // until when the last of the secrets before rotations works
	Stamp
}

// OfAPIKey shows a key.
func OfAPIKey(it *table.Item, e entity.APIKey) APIKey {
	return APIKey{
		ID: e.ID, Name: e.Name, Permissions: e.Permissions, Scopes: e.Scopes,
		ExpiresAt: instant.OrNone(e.ExpiresAt), PreviousUntil: instant.OrNone(e.PreviousEnd()), Stamp: StampOf(it),
	}
}

// Package events is the published contract of what changed: one event for one
// change of one entity, the same on the audit log, the bus and webhooks. It
// uses the standard library only, and no type of the domain: a published
// contract changes on another clock.
package events

import "encoding/json"

// The types of events, ENTITY.VERB.
const (
	OrgCreated        = "org.created"
	OrgUpdated        = "org.updated"
	OrgDeleted        = "org.deleted"
	ScopeCreated      = "scope.created"
	ScopeUpdated      = "scope.updated"
	ScopeDeleted      = "scope.deleted"
	PermissionCreated = "permission.created"
	PermissionUpdated = "permission.updated"
	PermissionDeleted = "permission.deleted"
	RoleCreated       = "role.created"
	RoleUpdated       = "role.updated"
	RoleDeleted       = "role.deleted"
	PolicyCreated     = "policy.created"
	PolicyUpdated     = "policy.updated"
	PolicyDeleted     = "policy.deleted"
	APIKeyCreated     = "api_key.created" //nolint:gosec // the name of an event, no credential
	APIKeyRotated     = "api_key.rotated"
	APIKeyRevoked     = "api_key.revoked"

	AccessDriftDetected = "access.drift_detected"
)

// Actor is who made a change.
type Actor struct {
	Type string `json:"type"` // api_key, operator, member, scim_token or system
	ID   string `json:"id"`
}

// Target is what was changed.
type Target struct {
	Type string `json:"type"` // the entity: org, scope, permission, ...
	ID   string `json:"id"`
}

// Event is one change. Its id and time are fixed at commit; Seq and the hashes
// are given by the audit log.
type Event struct {
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	Time         string          `json:"time"` // RFC 3339, UTC
	Seq          uint64          `json:"seq,omitzero"`
	Org          string          `json:"org"`
	Scope        *string         `json:"scope"`
	Actor        Actor           `json:"actor"`
	OnBehalfOf   string          `json:"on_behalf_of,omitempty"`
	RequestID    string          `json:"request_id"`
	SourceIP     string          `json:"source_ip"`
	Target       Target          `json:"target"`
	Before       json.RawMessage `json:"before"` // null on create
	After        json.RawMessage `json:"after"`  // null on delete
	CausedBy     string          `json:"caused_by,omitempty"`
	PreviousHash string          `json:"previous_hash,omitempty"`
	Hash         string          `json:"hash,omitempty"`
}

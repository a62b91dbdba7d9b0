package entity

import (
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

// AuditEvent stands for an item of the audit log; its Body is the sealed event.
type AuditEvent struct{}

// Chain is the head of an audit log's hash chain.
type Chain struct {
	Org      rbac.OrgID   `json:"org"`
	Scope    rbac.ScopeID `json:"scope,omitzero"` // zero: the org's own chain
	Seq      uint64       `json:"seq"`            // of the last event, which is also how many there are
	Hash     string       `json:"hash"`           // of the last event
	Recorded time.Time    `json:"recorded"`       // when it was appended; never goes back
	Swept    time.Time    `json:"swept,omitzero"` // of the events committed until then none is missing
}

// Checkpoint stands for a signed checkpoint; its Body is chain.Checkpoint.
type Checkpoint struct{}

// Suspicion is a change of an entity for which no event was found yet.
type Suspicion struct {
	Org     rbac.OrgID   `json:"org"`
	Scope   rbac.ScopeID `json:"scope,omitzero"`
	At      time.Time    `json:"at"` // of the change
	Claim   string       `json:"claim,omitempty"`
	Kind    string       `json:"kind"` // of the entity, as targets of events have it
	ID      string       `json:"id"`   // of the entity
	Before  *Trace       `json:"before"`
	After   *Trace       `json:"after"`
	EventID string       `json:"event_id"` // of the event that it becomes when nothing claims it
	Audited bool         `json:"audited,omitzero"`
	Settled time.Time    `json:"settled,omitzero"`
}

// Trace is what an event out of band shows of an item: never its content, which
// may hold what no event shows.
type Trace struct {
	Key       string    `json:"key"`
	Type      string    `json:"type"`
	Version   uint64    `json:"version"`
	SHA256    string    `json:"sha256"` // of the content
	UpdatedAt time.Time `json:"updated_at"`
	Actor     string    `json:"actor,omitempty"`
	LastEvent string    `json:"last_event,omitempty"`
}

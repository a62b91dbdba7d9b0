// Package events is the published contract of what changed: one event for one
// change of one entity, the same on the audit log, the bus and webhooks. It
// uses the standard library only, and no type of the domain: a published
// contract changes on another clock.
package events

import "encoding/json"

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

// Erasure stands in an event for personal data that was taken out of it, so
// that its hash still holds (package chain). Both maps are by member:
// `actor.id`, `on_behalf_of`, `source_ip`, `target.id`, `before`, `after`.
type Erasure struct {
	Erased map[string]string `json:"erased"` // commitment of each member that was erased, in hex
	Keys   map[string]string `json:"keys"`   // commitment key of each that was not, in hex; the salt is gone
}

// Event is one change. Its id and time are fixed at commit; Seq, Salt and the
// hashes are given by the audit log.
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
	Salt         string          `json:"salt,omitempty"`    // 32 hex digits; blinds the commitments in Hash
	Erasure      *Erasure        `json:"erasure,omitempty"` // in place of Salt, once something was erased
}

// Package audit is the storage of the audit log: hash chains of events in the
// table, one a scope and one an org for its events without a scope.
//
// Every change's transaction leaves an event item, the outbox. Append gives
// such events their place: in one transaction it writes their audit items with
// dense seqs, marks their event items with them, and moves the chain's head,
// conditioned on what it was. So an event is in its chain once, whoever appends
// it how often, and a seq is given once.
//
// A signed checkpoint (count, head, time) is kept every hour, also of a chain
// that rests, so that a tail that was cut shows. What is older than the org's
// retention goes by its TTL.
package audit

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/chain"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// The types of this package's items, and of the outbox's.
const (
	typeEvent      = "Event"
	typeAudit      = "Audit"
	typeChain      = "Chain"
	typeCheckpoint = "Checkpoint"
)

// system is who writes the audit log.
const system = "system:audit"

// Errors of an audit log that is not as this package leaves it.
var (
	// ErrOutbox: an event item that can't be read.
	ErrOutbox = errors.New("audit: not an event item")
	// ErrOccupied: something stands where the chain's next event belongs.
	ErrOccupied = errors.New("audit: the chain's next place is taken")
)

// Log reads and writes audit logs. Safe for concurrent use.
type Log struct {
	Table   table.Store
	Clock   clock.Clock
	Backoff retry.Backoff // for conflicts, throttles and lost answers

	mu        sync.Mutex
	retention map[rbac.OrgID]retention
}

// ID names a chain by the ids it is stored under.
type ID struct {
	Org   rbac.OrgID
	Scope rbac.ScopeID // zero: the org's own chain
}

// IDOf is the chain that an event belongs to. ErrOutbox for ids that are none.
func IDOf(e *events.Event) (ID, error) {
	o, err := rbac.ParseOrgID(e.Org)
	if err != nil {
		return ID{}, fmt.Errorf("%w: %w", ErrOutbox, err)
	}
	if e.Scope == nil {
		return ID{Org: o}, nil
	}
	s, err := rbac.ParseScopeID(*e.Scope)
	if err != nil {
		return ID{}, fmt.Errorf("%w: %w", ErrOutbox, err)
	}
	return ID{o, s}, nil
}

// Chain is the name that events and checkpoints have for it.
func (id ID) Chain() chain.ID { return chain.ID{Org: id.Org.String(), Scope: id.Scope.String()} }

func (id ID) String() string { return id.Chain().String() }

func (id ID) head() keys.Key[entity.Chain] {
	if id.Scope.IsZero() {
		return keys.OrgChain(id.Org)
	}
	return keys.ScopeChain(id.Scope)
}

func (id ID) event(seq uint64) keys.Raw {
	if id.Scope.IsZero() {
		return keys.OrgAudit(id.Org, seq).Raw()
	}
	return keys.ScopeAudit(id.Scope, seq).Raw()
}

func (id ID) checkpoint(count uint64, at time.Time) keys.Raw {
	if id.Scope.IsZero() {
		return keys.OrgCheckpoint(id.Org, count, at).Raw()
	}
	return keys.ScopeCheckpoint(id.Scope, count, at).Raw()
}

// due is the chain's id in the list of chains that want a checkpoint.
func (id ID) due() string { return id.head().Raw().PK() }

// newSalt blinds one event's commitments.
func newSalt() (s chain.Salt) {
	_, _ = rand.Read(s[:]) // never fails (crypto/rand)
	return s
}

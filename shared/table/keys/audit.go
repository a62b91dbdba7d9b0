package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
)

// AuditShards is over how many partitions of GSI2 a month of an org's audit log
// is spread.
const AuditShards = 4

// ScopeAudit is the event of that seq in a scope's audit log.
func ScopeAudit(s rbac.ScopeID, seq uint64) Key[entity.AuditEvent] {
	return key[entity.AuditEvent](join("SCOPE", s.String()), auditSK(seq))
}

// OrgAudit is the event of that seq in an org's own audit log.
func OrgAudit(o rbac.OrgID, seq uint64) Key[entity.AuditEvent] {
	return key[entity.AuditEvent](join("ORG", o.String()), auditSK(seq))
}

// AuditBetween are the first and last sort key of the events from one seq to
// another, both included.
func AuditBetween(first, last uint64) (from, to string) { return auditSK(first), auditSK(last) }

func auditSK(seq uint64) string { return fmt.Sprintf("AUDIT#%020d", seq) }

// ScopeChain is the head of a scope's hash chain.
func ScopeChain(s rbac.ScopeID) Key[entity.Chain] {
	return key[entity.Chain](join("SCOPE", s.String()), "CHAIN")
}

// OrgChain is the head of the hash chain of an org's events without a scope.
func OrgChain(o rbac.OrgID) Key[entity.Chain] {
	return key[entity.Chain](join("ORG", o.String()), "CHAIN")
}

// ScopeCheckpoint is a signed checkpoint of a scope's chain.
func ScopeCheckpoint(s rbac.ScopeID, count uint64, at time.Time) Key[entity.Checkpoint] {
	return key[entity.Checkpoint](join("SCOPE", s.String()), checkpointSK(count, at))
}

// OrgCheckpoint is a signed checkpoint of an org's own chain.
func OrgCheckpoint(o rbac.OrgID, count uint64, at time.Time) Key[entity.Checkpoint] {
	return key[entity.Checkpoint](join("ORG", o.String()), checkpointSK(count, at))
}

// CheckpointsBetween are sort keys around the checkpoints that count from first
// to last events.
func CheckpointsBetween(first, last uint64) (from, to string) {
	return fmt.Sprintf("CHECKPOINT#%020d", first), fmt.Sprintf("CHECKPOINT#%020d$", last)
}

func checkpointSK(count uint64, at time.Time) string {
	return fmt.Sprintf("CHECKPOINT#%020d#%s", count, at.UTC().Format(TimeLayout))
}

// OrgAuditAt is an event's place among all events of an org, its scopes'
// included, by when it was recorded. Those of one chain stand by seq.
func OrgAuditAt(o rbac.OrgID, recorded time.Time, seq uint64, id string) IndexKey {
	return IndexKey{OrgAuditMonth(o, recorded, AuditShard(id)), OrgAuditSK(recorded) + fmt.Sprintf("#%020d#", seq) + escape(id)}
}

// OrgAuditMonth is the partition of GSI2 for one month of an org's audit log and
// one shard, 0 to AuditShards-1.
func OrgAuditMonth(o rbac.OrgID, at time.Time, shard int) string {
	p := join("ORG", o.String())
	if p == "" {
		return ""
	}
	return p + fmt.Sprintf("#AUDIT#%s#%d", at.UTC().Format("2006-01"), shard)
}

// OrgAuditSK is what the sort keys of events recorded at the moment begin with.
func OrgAuditSK(recorded time.Time) string { return recorded.UTC().Format(TimeLayout) }

// AuditShard is the shard of the event with that id.
func AuditShard(id string) int { return shardOf(id, AuditShards) }

func shardOf(id string, n uint32) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return int(h.Sum32() % n)
}

// ScopeEvents is one shard of a scope's outbox.
func ScopeEvents(s rbac.ScopeID, shard int) Range[entity.Event] {
	return Range[entity.Event]{pk: ScopeEvent(s, shard, time.Time{}, "-").raw.pk, prefix: prefix("EVENT")}
}

// OrgEvents is the outbox of an org's events without a scope.
func OrgEvents(o rbac.OrgID) Range[entity.Event] {
	return Range[entity.Event]{pk: OrgEvent(o, time.Time{}, "-").raw.pk, prefix: prefix("EVENT")}
}

// EventsBetween are the first and last sort key of event items of a span of time.
func EventsBetween(first, last time.Time) (from, to string) {
	return join("EVENT", first.UTC().Format(TimeLayout)), join("EVENT", last.UTC().Format(TimeLayout)) + "$"
}

// Suspicion is a change that no event was found for. It is known by its place in
// the stream.
func Suspicion(shard, sequence string) Key[entity.Suspicion] {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(shard), shard, sequence))
	k := join("SUSPICION", hex.EncodeToString(sum[:]))
	return key[entity.Suspicion](k, k)
}

// AuditWork is a kind of work that the audit log has to come back to.
type AuditWork string

// The kinds of work.
const (
	CheckpointDue AuditWork = "CHECKPOINT" // chains that want a checkpoint
	SuspicionDue  AuditWork = "SUSPICION"  // changes that wait for their event
)

// AuditWorkAt is an item's place in GSI4 among the audit log's own work, apart
// from due work of others: it is found from that moment on.
func AuditWorkAt(w AuditWork, at time.Time, id string) IndexKey {
	return IndexKey{auditWork(w, shardOf(id, DueShards)), at.UTC().Format(TimeLayout) + "#" + escape(id)}
}

// AuditWorkUntil is what of a shard's work, 0 to DueShards-1, is due at the
// moment: partition, first and last sort key.
func AuditWorkUntil(w AuditWork, shard int, now time.Time) (pk, from, to string) {
	return auditWork(w, shard), "0", now.UTC().Format(TimeLayout) + "$" // after every id's separator
}

func auditWork(w AuditWork, shard int) string { return fmt.Sprintf("AUDIT_%s#%02d", w, shard) }

// ParseOwner reads off an item's key in whose partition it is: a scope's, or
// else an org's. Both are zero for items that are in neither.
func ParseOwner(r Raw) (o rbac.OrgID, s rbac.ScopeID) {
	if parts, err := split(r.pk, "SCOPE", 1); err == nil {
		if s, err = rbac.ParseScopeID(parts[0]); err == nil {
			return o, s
		}
	}
	if parts, err := split(r.pk, "ORG", 1); err == nil {
		if o, err = rbac.ParseOrgID(parts[0]); err == nil {
			return o, rbac.ScopeID{}
		}
	}
	return rbac.OrgID{}, rbac.ScopeID{}
}

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

// Fences is the number of fences of a scope.
const Fences = 64

// TimeLayout is how times stand in keys: fixed width, so that they sort.
const TimeLayout = "2006-01-02T15:04:05.000000000Z"

// Org is an org's own item.
func Org(o rbac.OrgID) Key[entity.Org] {
	k := join("ORG", o.String())
	return key[entity.Org](k, k)
}

// OrgByName is an org's place in the list of all orgs.
func OrgByName(name string, o rbac.OrgID) IndexKey {
	return IndexKey{"ORG_NAME", escape(name) + "#" + escape(o.String())}
}

// OrgsByName is the list of all orgs, by name.
func OrgsByName() Range[entity.Org] { return Range[entity.Org]{index: GSI1, pk: "ORG_NAME"} }

// UniqueKind is a class of globally unique values.
type UniqueKind string

// UniqueOrgName is the class of org names. Org and scope ids need none: their
// own items' keys are unique.
const UniqueOrgName UniqueKind = "ORG_NAME"

// Unique takes a value; values are hashed so that their length has no limit.
func Unique(kind UniqueKind, value string) Key[entity.Unique] {
	k := join("UNIQUE", string(kind), hash(value))
	return key[entity.Unique](k, k)
}

// Scope is a scope's own item, in its org's partition: an org's scopes are
// listed consistently, without an index.
func Scope(o rbac.OrgID, s rbac.ScopeID) Key[entity.Scope] {
	return key[entity.Scope](join("ORG", o.String()), join("SCOPE", s.String()))
}

// Scopes are the scopes of an org.
func Scopes(o rbac.OrgID) Range[entity.Scope] {
	return Range[entity.Scope]{pk: join("ORG", o.String()), prefix: prefix("SCOPE")}
}

// Head is a scope's head, in a partition of its own. It takes the scope's id
// for its org: scope ids are unique over all orgs.
func Head(s rbac.ScopeID) Key[entity.Head] { return key[entity.Head](join("HEAD", s.String()), "HEAD") }

// Fence is the k-th fence of a scope, 0 to Fences-1.
func Fence(s rbac.ScopeID, k int) Key[entity.Fence] {
	return key[entity.Fence](join("SCOPE", s.String()), fmt.Sprintf("FENCE#%02d", k))
}

// Permission is a permission's definition.
func Permission(s rbac.ScopeID, p rbac.PermissionID) Key[entity.Permission] {
	return key[entity.Permission](join("SCOPE", s.String()), join("PERMISSION", p.String()))
}

// Permissions are all permissions of a scope.
func Permissions(s rbac.ScopeID) Range[entity.Permission] {
	return Range[entity.Permission]{pk: join("SCOPE", s.String()), prefix: prefix("PERMISSION")}
}

// Role is a role's definition.
func Role(s rbac.ScopeID, r rbac.RoleID) Key[entity.Role] {
	return key[entity.Role](join("SCOPE", s.String()), join("ROLE", r.String()))
}

// Roles are all roles of a scope.
func Roles(s rbac.ScopeID) Range[entity.Role] {
	return Range[entity.Role]{pk: join("SCOPE", s.String()), prefix: prefix("ROLE")}
}

// GroupMapping is a group mapping's definition.
func GroupMapping(o rbac.OrgID, m rbac.MappingID) Key[entity.GroupMapping] {
	return key[entity.GroupMapping](join("ORG", o.String()), join("GROUP_MAPPING", m.String()))
}

// Policy is what a subject holds in a scope.
func Policy(s rbac.ScopeID, u rbac.SubjectID) Key[entity.Policy] {
	return key[entity.Policy](join("SCOPE", s.String()), join("POLICY", u.String()))
}

// Policies are all policies of a scope.
func Policies(s rbac.ScopeID) Range[entity.Policy] {
	return Range[entity.Policy]{pk: join("SCOPE", s.String()), prefix: prefix("POLICY")}
}

// RoleMember says that a subject holds a role.
func RoleMember(s rbac.ScopeID, r rbac.RoleID, u rbac.SubjectID) Key[entity.RoleMember] {
	return key[entity.RoleMember](join("SCOPE", s.String()), join("ROLE_MEMBER", r.String(), u.String()))
}

// RoleMembers are all subjects that hold a role.
func RoleMembers(s rbac.ScopeID, r rbac.RoleID) Range[entity.RoleMember] {
	return Range[entity.RoleMember]{pk: join("SCOPE", s.String()), prefix: prefix("ROLE_MEMBER", r.String())}
}

// AllRoleMembers are all subjects that hold any role of a scope.
func AllRoleMembers(s rbac.ScopeID) Range[entity.RoleMember] {
	return Range[entity.RoleMember]{pk: join("SCOPE", s.String()), prefix: prefix("ROLE_MEMBER")}
}

// SubjectScope says that a subject of an org has a policy in a scope.
func SubjectScope(o rbac.OrgID, u rbac.SubjectID, s rbac.ScopeID) Key[entity.SubjectScope] {
	return key[entity.SubjectScope](join("SUBJECT", o.String(), u.String()), join("SCOPE", s.String()))
}

// Access is a subject's access document in a scope, in a partition of its own.
func Access(s rbac.ScopeID, u rbac.SubjectID) Key[entity.Access] {
	return key[entity.Access](join("ACCESS", s.String(), u.String()), "ACCESS")
}

// APIKey is an org's API key.
func APIKey(o rbac.OrgID, k rbac.APIKeyID) Key[entity.APIKey] {
	return key[entity.APIKey](join("ORG", o.String()), join("API_KEY", k.String()))
}

// APIKeys are all API keys of an org.
func APIKeys(o rbac.OrgID) Range[entity.APIKey] {
	return Range[entity.APIKey]{pk: join("ORG", o.String()), prefix: prefix("API_KEY")}
}

// OperatorKey is a stored operator key.
func OperatorKey(k rbac.APIKeyID) Key[entity.OperatorKey] {
	return key[entity.OperatorKey]("OPERATOR", join("API_KEY", k.String()))
}

// OperatorKeys are all stored operator keys.
func OperatorKeys() Range[entity.OperatorKey] {
	return Range[entity.OperatorKey]{pk: "OPERATOR", prefix: prefix("API_KEY")}
}

// Member is an org's member.
func Member(o rbac.OrgID, u rbac.SubjectID) Key[entity.Member] {
	return key[entity.Member](join("ORG", o.String()), join("MEMBER", u.String()))
}

// Members are all members of an org.
func Members(o rbac.OrgID) Range[entity.Member] {
	return Range[entity.Member]{pk: join("ORG", o.String()), prefix: prefix("MEMBER")}
}

// ScopeEvent is an outbox item of a scope; shard is hash(target) mod the scope's event shards.
func ScopeEvent(s rbac.ScopeID, shard int, at time.Time, id string) Key[entity.Event] {
	return key[entity.Event](join("EVENT", "SCOPE", s.String(), fmt.Sprintf("%02d", shard)), eventSK(at, id))
}

// OrgEvent is an outbox item of an org, for events without a scope.
func OrgEvent(o rbac.OrgID, at time.Time, id string) Key[entity.Event] {
	return key[entity.Event](join("EVENT", "ORG", o.String()), eventSK(at, id))
}

func eventSK(at time.Time, id string) string {
	return join("EVENT", at.UTC().Format(TimeLayout), id)
}

// Idempotency remembers the answer to one Idempotency-Key of one caller on one
// route; all of it is in the digest.
func Idempotency(digest [sha256.Size]byte) Key[entity.Idempotency] {
	k := join("IDEMPOTENCY", hex.EncodeToString(digest[:]))
	return key[entity.Idempotency](k, k)
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Recompute is the progress of one definition's fan-out; name is the hash of
// the definition, as HEAD keeps it.
func Recompute(s rbac.ScopeID, name uint64) Key[entity.Recompute] {
	return key[entity.Recompute](join("SCOPE", s.String()), fmt.Sprintf("RECOMPUTE#%016x", name))
}

// Recomputes are all fan-outs of a scope.
func Recomputes(s rbac.ScopeID) Range[entity.Recompute] {
	return Range[entity.Recompute]{pk: join("SCOPE", s.String()), prefix: prefix("RECOMPUTE")}
}

// DueShards is over how many partitions of GSI4 due work is spread.
const DueShards = 16

// Due is an item's place in the list of due work: the scheduler finds it from
// that moment on. id tells items apart that are due at one moment.
func Due(at time.Time, id string) IndexKey {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return IndexKey{dueShard(int(h.Sum32() % DueShards)), at.UTC().Format(TimeLayout) + "#" + escape(id)}
}

func dueShard(n int) string { return fmt.Sprintf("DUE#%02d", n) }

// DueUntil is what of a shard's due work is due at the moment: partition, first
// and last sort key.
func DueUntil(shard int, now time.Time) (pk, from, to string) {
	return dueShard(shard), "0", now.UTC().Format(TimeLayout) + "$" // after every id's separator
}

// Task remembers when an hourly task last ran.
func Task(name string) Key[entity.Task] {
	return key[entity.Task]("TASK", join("TASK", name))
}

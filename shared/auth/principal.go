package auth

import (
	"slices"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
)

// ErrUnauthenticated is the one fault of every missing, malformed, unknown,
// expired or revoked key: nothing tells which.
var ErrUnauthenticated = fault.New(fault.Unauthenticated, "a valid key is needed: Authorization: Bearer KEY")

// PrincipalKind is a kind of caller.
type PrincipalKind string

// The kinds of callers, as events name them.
const (
	PrincipalAPIKey   PrincipalKind = "api_key"
	PrincipalOperator PrincipalKind = "operator"
)

// Principal is a caller who proved who it is. Only this package makes one.
type Principal struct {
	kind   PrincipalKind
	id     string
	org    rbac.OrgID // zero: every org
	rights []entity.Right
	scopes []rbac.ScopeID // none: every scope of its org
	ends   *time.Time     // when the key ends; nil: it does not
	past   bool           // proved by a secret that was replaced
}

// OfAPIKey verifies a credential against the stored key. nil key: there is none.
func OfAPIKey(c Credential, key *entity.APIKey, now time.Time) (Principal, error) {
	if key == nil || c.Kind != KindAPIKey || key.Org != c.Org || key.ID != c.ID {
		return Principal{}, ErrUnauthenticated
	}
	current, past := opens(c, key, now)
	if (!current && !past) || (key.ExpiresAt != nil && !now.Before(*key.ExpiresAt)) {
		return Principal{}, ErrUnauthenticated
	}
	return Principal{kind: PrincipalAPIKey, id: key.ID.String(), org: key.Org, rights: key.Permissions, scopes: key.Scopes, ends: key.ExpiresAt, past: !current}, nil
}

// opens says whether the credential is the key's secret, or one that was replaced
// and works yet. It is compared with all of them, whichever it is.
func opens(c Credential, key *entity.APIKey, now time.Time) (current, past bool) {
	current = c.Is(key.Hash)
	for i := range key.Previous {
		old := &key.Previous[i]
		is := c.Is(old.Hash)
		past = past || (is && now.Before(old.Until))
	}
	return current, past
}

// Outlives says whether something that ends then would outlive the caller's key;
// nil is never.
func (p Principal) Outlives(end *time.Time) bool {
	return p.ends != nil && (end == nil || end.After(*p.ends))
}

// Replaced says whether the caller proved itself by a secret that was replaced:
// it works on for what it did, and may not touch keys any more.
func (p Principal) Replaced() bool { return p.past }

// OfOperator verifies a credential against a stored operator key's hash.
func OfOperator(c Credential, id string, hash []byte) (Principal, error) {
	if !c.Is(hash) {
		return Principal{}, ErrUnauthenticated
	}
	return Principal{kind: PrincipalOperator, id: id, rights: entity.AllRights}, nil
}

// ID is the caller's id: of the key, not its secret.
func (p Principal) ID() string { return p.id }

// Operator says whether the caller may do everything in every org.
func (p Principal) Operator() bool { return p.kind == PrincipalOperator }

// Org is the caller's org; zero for an operator.
func (p Principal) Org() rbac.OrgID { return p.org }

// Actor is the caller as events name it.
func (p Principal) Actor() events.Actor { return events.Actor{Type: string(p.kind), ID: p.id} }

// May says whether the caller has a right.
func (p Principal) May(r entity.Right) bool { return p.Operator() || slices.Contains(p.rights, r) }

// InOrg says whether an org's resources are within the caller's reach.
func (p Principal) InOrg(o rbac.OrgID) bool { return p.Operator() || (!p.org.IsZero() && p.org == o) }

// InScope says whether a scope of an org is within the caller's reach.
func (p Principal) InScope(o rbac.OrgID, s rbac.ScopeID) bool {
	return p.InOrg(o) && (len(p.scopes) == 0 || slices.Contains(p.scopes, s))
}

// EveryScope says whether the caller reaches every scope of its org.
func (p Principal) EveryScope() bool { return len(p.scopes) == 0 }

// Covers says whether the caller holds all that a key with these rights and
// scopes would: no one gives more than it holds.
func (p Principal) Covers(rights []entity.Right, scopes []rbac.ScopeID) bool {
	for _, r := range rights {
		if !p.May(r) {
			return false
		}
	}
	if p.Operator() || len(p.scopes) == 0 {
		return true
	}
	if len(scopes) == 0 {
		return false
	}
	for _, s := range scopes {
		if !slices.Contains(p.scopes, s) {
			return false
		}
	}
	return true
}

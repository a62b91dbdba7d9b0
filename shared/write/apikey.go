package write

import (
	"context"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// ErrNoAPIKey is the fault of an API key that is missing, revoked or beyond reach.
var ErrNoAPIKey = fault.New(fault.NotFound, "no such API key")

// Allow says whether the caller may touch a key as it is; a fault refuses the change.
type Allow func(entity.APIKey) error

// CreateAPIKey makes a key of its org. fault.Invalid is for one that is over
// already, fault.UnknownReference names scopes that the org does not have,
// fault.LimitExceeded is for an org with too many keys.
func (w *Writer) CreateAPIKey(ctx context.Context, req *Request, key entity.APIKey) (Outcome, error) {
	if key.ExpiresAt != nil && !req.Time.Before(*key.ExpiresAt) {
		return Outcome{}, fault.InField(fault.Invalid, "expires_at", "must be in the future")
	}
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		org, orgItem, err := w.readOrg(ctx, key.Org)
		if err != nil {
			return nil, err
		}
		if org.APIKeys >= rbac.MaxAPIKeysInOrg {
			return nil, limit("API keys an org", rbac.MaxAPIKeysInOrg)
		}
		if err := w.knownScopes(ctx, key); err != nil {
			return nil, err
		}
		org.APIKeys++
		op, _, err := orgOp(req, orgItem, org)
		if err != nil {
			return nil, err
		}
		it, err := req.body(keys.APIKey(key.Org, key.ID).Raw(), "APIKey", 1, nil, key)
		if err != nil {
			return nil, err
		}
		e, err := updated(events.APIKeyCreated, key.Org, nil, apiKeyTarget(key.ID), nil, it, showAPIKey)
		return &plan{
			outcome: Outcome{Item: it, Created: true, Revision: revision.OfOrg(key.Org).String()},
			ops:     []table.Op{op, table.Put(it, table.Absent())},
			event:   e,
		}, err
	})
}

// knownScopes holds a key's scopes to those of its org.
func (w *Writer) knownScopes(ctx context.Context, key entity.APIKey) error {
	if len(key.Scopes) == 0 {
		return nil
	}
	wanted := make([]keys.Raw, len(key.Scopes))
	for i, s := range key.Scopes {
		wanted[i] = keys.Scope(key.Org, s).Raw()
	}
	items, err := w.Table.BatchGet(ctx, wanted, table.Strong)
	if err != nil {
		return err
	}
	unknown := &fault.Error{Code: fault.UnknownReference, Detail: "the key names scopes that the org does not have"}
	for i, it := range items {
		var scope entity.Scope
		if it != nil {
			if scope, err = stored.Decode[entity.Scope](it); err != nil {
				return err
			}
		}
		if it == nil || scope.Deleting {
			unknown.Fields = append(unknown.Fields, noSuch(element("scopes", i), "scope", key.Scopes[i].String()))
		}
	}
	if len(unknown.Fields) > 0 {
		return unknown
	}
	return nil
}

// RotateAPIKey gives a key a new secret, whose hash is given. The one it replaces
// works for the overlap yet, and those before it for as long as they were to;
// without an overlap none but the new one works. fault.LimitExceeded is for a key
// with too many secrets that work.
func (w *Writer) RotateAPIKey(ctx context.Context, req *Request, o rbac.OrgID, id rbac.APIKeyID, hash []byte, overlap time.Duration, allow Allow, pre Precondition) (Outcome, error) {
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		old, it, err := w.readAPIKey(ctx, o, id, allow, pre)
		if err != nil {
			return nil, err
		}
		next := old
		next.Hash, next.Previous = hash, nil
		if overlap > 0 {
			next.Previous = append(working(old.Previous, req.Time), entity.PastSecret{Hash: old.Hash, Until: req.Time.Add(overlap)})
		}
		if len(next.Previous) > rbac.MaxPastSecrets {
			return nil, fault.New(fault.LimitExceeded, "previous secrets that work beside a key's newest: at most %d; the first of them ends at %s",
				rbac.MaxPastSecrets, instant.At(firstEnd(next.Previous)))
		}
		after, err := req.body(it.Key, "APIKey", it.Version+1, it, next)
		if err != nil {
			return nil, err
		}
		after.Index[keys.GSI4-1] = overlapDue(next)
		e, err := updated(events.APIKeyRotated, o, nil, apiKeyTarget(id), it, after, showAPIKey)
		return &plan{
			outcome: Outcome{Item: after, Revision: revision.OfOrg(o).String()},
			ops:     []table.Op{table.Put(after, table.VersionIs(it.Version))},
			event:   e,
		}, err
	})
}

// RevokeAPIKey removes a key: it lets nobody in from then on.
func (w *Writer) RevokeAPIKey(ctx context.Context, req *Request, o rbac.OrgID, id rbac.APIKeyID, allow Allow, pre Precondition) (Outcome, error) {
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		org, orgItem, err := w.readOrg(ctx, o)
		if err != nil {
			return nil, err
		}
		_, it, err := w.readAPIKey(ctx, o, id, allow, pre)
		if err != nil {
			return nil, err
		}
		org.APIKeys--
		op, _, err := orgOp(req, orgItem, org)
		if err != nil {
			return nil, err
		}
		e, err := updated(events.APIKeyRevoked, o, nil, apiKeyTarget(id), it, nil, showAPIKey)
		return &plan{
			outcome: Outcome{Revision: revision.OfOrg(o).String()},
			ops:     []table.Op{op, table.Delete(it.Key, table.VersionIs(it.Version))},
			event:   e,
		}, err
	})
}

func (w *Writer) readAPIKey(ctx context.Context, o rbac.OrgID, id rbac.APIKeyID, allow Allow, pre Precondition) (entity.APIKey, *table.Item, error) {
	key, it, err := stored.Get(ctx, w.Table, keys.APIKey(o, id), table.Strong)
	switch {
	case err != nil:
		return key, nil, err
	case it == nil:
		return key, nil, ErrNoAPIKey
	}
	if err := allow(key); err != nil {
		return key, nil, err
	}
	return key, it, pre.test(true, it.Version)
}

func apiKeyTarget(k rbac.APIKeyID) events.Target {
	return events.Target{Type: "api_key", ID: k.String()}
}

func showAPIKey(it *table.Item) ([]byte, error) {
	e, err := stored.Decode[entity.APIKey](it)
	if err != nil {
		return nil, err
	}
	return shown(resource.OfAPIKey(it, e))
}

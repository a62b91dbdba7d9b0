package recompute

import (
	"context"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// abandonedAfter is how long an entry may stand in flux before its fan-out has
// to have begun.
const abandonedAfter = 10 * time.Minute

// Abandoned begins the fan-outs of entries that stand in flux and that none
// works on, as when a stream record was lost.
func (e *Engine) Abandoned(ctx context.Context, scope rbac.ScopeID, now time.Time) (jobs []Job, err error) {
	h, err := e.Head(ctx, scope)
	if err != nil || h == nil || h.Deleted {
		return nil, err
	}
	var open []head.Entry
	for _, f := range append([]head.Entry{h.All}, h.Flux...) {
		if f.Revision == 0 || now.Sub(f.Since) < abandonedAfter {
			continue
		}
		r, it, err := stored.Get(ctx, e.Table, keys.Recompute(scope, f.Name), table.Strong)
		if err != nil {
			return nil, err
		}
		if it == nil || r.Incarnation != h.Incarnation || r.Revision < f.Revision {
			open = append(open, f)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	names, err := e.names(ctx, scope)
	if err != nil {
		return nil, err
	}
	for _, f := range open {
		job, begun, err := e.Begin(ctx, scope, h, f, names[f.Name])
		if err != nil {
			return jobs, err
		}
		if begun {
			jobs = append(jobs, job)
		}
	}
	return jobs, nil
}

// names are the scope's definitions by hash: flux keeps no more of a name.
func (e *Engine) names(ctx context.Context, scope rbac.ScopeID) (map[uint64]rbac.DefinitionID, error) {
	names := make(map[uint64]rbac.DefinitionID)
	add := func(id rbac.DefinitionID) bool {
		names[id.Hash()] = id
		return true
	}
	err := stored.All(ctx, e.Table, keys.Roles(scope), func(r stored.Row[entity.Role]) bool { return add(rbac.OfRole(r.Entity.ID)) })
	if err != nil {
		return nil, err
	}
	return names, stored.All(ctx, e.Table, keys.Permissions(scope), func(r stored.Row[entity.Permission]) bool {
		return add(rbac.OfPermission(r.Entity.ID))
	})
}

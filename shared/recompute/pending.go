package recompute

import (
	"context"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Pending is how many changes of a scope's definitions have holders whose
// documents may not have caught up. An entry stays in flux for longer than that:
// those whose fan-out has been through all holders once are not counted.
func Pending(ctx context.Context, r table.Reader, scope rbac.ScopeID, h *head.Head) (int, error) {
	if h.Pending() == 0 {
		return 0, nil
	}
	through := make(map[uint64]rbac.Revision)
	err := stored.All(ctx, r, keys.Recomputes(scope), func(row stored.Row[entity.Recompute]) bool {
		if row.Entity.Incarnation == h.Incarnation && row.Entity.Phase != entity.PhaseFirst {
			through[row.Entity.Name] = row.Entity.Revision
		}
		return true
	})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, f := range append([]head.Entry{h.All}, h.Flux...) {
		if f.Revision > 0 && through[f.Name] < f.Revision {
			n++
		}
	}
	return n, nil
}

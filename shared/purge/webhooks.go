package purge

import (
	"context"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table/keys"
)

// webhooks removes a scope's webhooks, each after its deliveries: they are found
// by it.
func (p *Purger) webhooks(ctx context.Context, s entity.Scope) (more bool, err error) {
	rows, _, err := stored.List(ctx, p.Engine.Table, keys.Webhooks(s.Org, s.ID), Piece, "")
	if err != nil || len(rows) == 0 {
		return false, err
	}
	var gone []keys.Raw
	for _, row := range rows {
		if more, err := p.sweep(ctx, bounds(keys.Deliveries(s.ID, row.Entity.ID))); more || err != nil {
			return true, err
		}
		gone = append(gone, keys.WebhookState(s.ID, row.Entity.ID).Raw(), row.Item.Key)
	}
	return true, p.remove(ctx, gone)
}

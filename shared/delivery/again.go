package delivery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// replays is how often a replay is tried while others change the delivery.
const replays = 5

// Replay makes a delivery pending again, whatever came of it before. What it
// returns is to be asked for. ErrNoDelivery when there is none, ErrChanged when
// it keeps changing.
func Replay(ctx context.Context, store table.Store, k keys.Key[entity.Delivery], by By, now time.Time) (*table.Item, entity.Delivery, error) {
	for range replays {
		d, it, err := stored.Get(ctx, store, k, table.Strong)
		if err == nil && it == nil {
			err = ErrNoDelivery
		}
		if err != nil {
			return nil, d, err
		}
		d = Again(d, now)
		next, err := Next(it, d, by, now, now.Add(Grace))
		if err != nil {
			return nil, d, err
		}
		err = store.Transact(ctx, table.Tx{Ops: []table.Op{Replace(next)}})
		var canceled *table.CanceledError
		if !errors.As(err, &canceled) {
			return next, d, err
		}
	}
	return nil, entity.Delivery{}, ErrChanged
}

// Recovery is a part of a recovery: what failed or was cancelled is pending again.
type Recovery struct {
	Asked []Message // to be asked for, oldest event first
	Next  time.Time // where the next part begins; zero: there is none
}

const (
	// recoveryPart is how many deliveries a part of a recovery makes pending.
	recoveryPart = 1000
	// recoveryPiece is how many of them in one transaction: with bodies and answers
	// of the largest kind it stays below 4 MB.
	recoveryPiece = 25
)

// Recover makes those deliveries of a webhook pending again that failed or were
// cancelled, of events from a moment on. Deliveries that succeeded or are pending
// are left as they are.
func Recover(ctx context.Context, store table.Store, s rbac.ScopeID, w rbac.WebhookID, since time.Time, by By, now time.Time) (Recovery, error) {
	var r Recovery
	if since.After(now) {
		return r, nil
	}
	pk, from, to := keys.DeliveriesBetween(s, w, since, now)
	for cursor := ""; ; {
		page, err := store.Query(ctx, table.Query{PK: pk, From: from, To: to, Limit: 100, Cursor: cursor, Consistency: table.Strong})
		if err != nil {
			return r, err
		}
		lost, err := undelivered(page.Items)
		if err != nil {
			return r, err
		}
		for piece := range slices.Chunk(lost, recoveryPiece) {
			asked, err := revive(ctx, store, piece, by, now)
			if err != nil {
				return r, err
			}
			r.Asked = append(r.Asked, asked...)
			if len(r.Asked) >= recoveryPart {
				r.Next = r.Asked[len(r.Asked)-1].At // its deliveries of that very moment are no longer lost
				return r, nil
			}
		}
		if cursor = page.Cursor; cursor == "" {
			return r, nil
		}
	}
}

func undelivered(items []*table.Item) (lost []stored.Row[entity.Delivery], err error) {
	for _, it := range items {
		d, err := stored.Decode[entity.Delivery](it)
		if err != nil {
			return nil, err
		}
		if d.Status == entity.DeliveryFailed || d.Status == entity.DeliveryCancelled {
			lost = append(lost, stored.Row[entity.Delivery]{Entity: d, Item: it})
		}
	}
	return lost, nil
}

// revive makes deliveries pending in one transaction, or one by one when others
// change some of them.
func revive(ctx context.Context, store table.Store, lost []stored.Row[entity.Delivery], by By, now time.Time) (asked []Message, err error) {
	var tx table.Tx
	for _, row := range lost {
		d := Again(row.Entity, now)
		next, err := Next(row.Item, d, by, now, now.Add(Grace))
		if err != nil {
			return nil, err
		}
		tx.Ops = append(tx.Ops, Replace(next))
		asked = append(asked, AskingFor(d))
	}
	err = store.Transact(ctx, tx)
	var canceled *table.CanceledError
	if !errors.As(err, &canceled) {
		return asked, err
	}
	asked = nil
	for _, row := range lost {
		_, d, err := Replay(ctx, store, IDOf(row.Entity).Key(row.Entity.Scope, row.Entity.Webhook), by, now)
		switch {
		case errors.Is(err, ErrNoDelivery):
			continue
		case err != nil:
			return nil, err
		}
		asked = append(asked, AskingFor(d))
	}
	return asked, nil
}

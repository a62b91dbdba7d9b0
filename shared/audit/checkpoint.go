package audit

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/events/chain"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// maxDue is how many items one call takes up of each shard of due work.
const maxDue = 500

// Due hands items that are due to take, whole and as they are now, up to a bound.
// What fails does not keep the rest from its turn.
func (l *Log) Due(ctx context.Context, work keys.AuditWork, now time.Time, take func(*table.Item) error) error {
	var failed error
	for shard := range keys.DueShards {
		pk, from, to := keys.AuditWorkUntil(work, shard, now)
		page, err := l.Table.Query(ctx, table.Query{Index: keys.GSI4, PK: pk, From: from, To: to, Limit: maxDue})
		if err != nil {
			return errors.Join(failed, err)
		}
		wanted := make([]keys.Raw, len(page.Items))
		for i, it := range page.Items {
			wanted[i] = it.Key
		}
		if len(wanted) == 0 {
			continue
		}
		items, err := l.Table.BatchGet(ctx, wanted, table.Strong)
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, it := range items {
			if ctx.Err() != nil {
				return errors.Join(failed, ctx.Err())
			}
			if it == nil || it.Index[keys.GSI4-1].PK() != pk || it.Index[keys.GSI4-1].SK() > to {
				continue // done meanwhile: the index may lag
			}
			if err := take(it); err != nil {
				failed = errors.Join(failed, fmt.Errorf("audit: %s: %w", it.Key, err))
			}
		}
	}
	return failed
}

// Sign keeps a signed checkpoint of a chain as it is now, has the next one due in
// an hour, and notes until when none of its events is missing. A chain whose last
// event is past its retention rests until the next one instead. Nothing happens
// when an append or another checkpoint comes first: the chain stays due, or is
// not any more.
func (l *Log) Sign(ctx context.Context, id ID, now, swept time.Time, key ed25519.PrivateKey) error {
	c, it, err := stored.Get(ctx, l.Table, id.head(), table.Strong)
	if err != nil || it == nil {
		return err
	}
	keep, err := l.keep(ctx, c.Org)
	if err != nil {
		return err
	}
	now = now.UTC().Round(0)
	if swept.After(c.Swept) {
		c.Swept = swept
	}
	next, err := chainItem(id, c, it, now)
	if err != nil {
		return err
	}
	tx := table.Tx{Ops: []table.Op{table.Put(next, table.VersionIs(it.Version))}}
	if now.Sub(c.Recorded) > keep {
		next.Index[keys.GSI4-1] = keys.IndexKey{}
	} else {
		next.Index[keys.GSI4-1] = keys.AuditWorkAt(keys.CheckpointDue, now.Add(checkpointEvery), id.due())
		checkpoint, err := checkpointItem(id, c, now, keep, key)
		if err != nil {
			return err
		}
		tx.Ops = append(tx.Ops, table.Put(checkpoint, table.Absent()))
	}
	err = l.Table.Transact(ctx, tx)
	var canceled *table.CanceledError
	if errors.As(err, &canceled) || errors.Is(err, table.ErrConflict) {
		return nil
	}
	return err
}

func checkpointItem(id ID, c entity.Chain, now time.Time, keep time.Duration, key ed25519.PrivateKey) (*table.Item, error) {
	head := chain.Head{Seq: c.Seq}
	if err := head.Hash.UnmarshalText([]byte(c.Hash)); err != nil {
		return nil, fmt.Errorf("audit: the head of %s: %w", id, err)
	}
	body, err := json.Marshal(chain.CheckpointOf(id.Chain(), head, instant.At(now).String()).Sign(key))
	if err != nil {
		return nil, fmt.Errorf("audit: checkpoint of %s: %w", id, err)
	}
	return &table.Item{
		Key: id.checkpoint(c.Seq, now), Type: typeCheckpoint, Version: 1, Format: entity.Format,
		CreatedAt: now, UpdatedAt: now, Actor: system, Body: body, TTL: now.Add(keep).Unix(),
	}, nil
}

// Checkpoints are those that bear on a chain's events up to a seq: the newest
// that counts no more of them, which proves all of them; the oldest that counts
// that many or more; and the newest of all. At most three, by count.
func (l *Log) Checkpoints(ctx context.Context, id ID, seq uint64) ([]chain.Checkpoint, error) {
	var found []chain.Checkpoint
	seen := make(map[keys.Raw]bool, 3)
	for _, q := range []struct {
		first, last uint64
		newest      bool
	}{{0, seq, true}, {seq, math.MaxUint64, false}, {seq, math.MaxUint64, true}} {
		from, to := keys.CheckpointsBetween(q.first, q.last)
		page, err := l.Table.Query(ctx, table.Query{
			PK: id.head().Raw().PK(), From: from, To: to, Descending: q.newest, Limit: 1, Consistency: table.Strong,
		})
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			if seen[it.Key] {
				continue
			}
			seen[it.Key] = true
			c, err := stored.Decode[chain.Checkpoint](it)
			if err != nil {
				return nil, err
			}
			found = append(found, c)
		}
	}
	return found, nil
}

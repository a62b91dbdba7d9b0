package weak

import (
	"context"
	"fmt"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// batchRounds is how often a batch asks again before it gives up.
const batchRounds = 8

// silent is a context whose cost nobody counts: what a caller pays is what it
// was shown, not what lies beneath.
func silent(ctx context.Context) context.Context { return table.WithMeter(ctx, new(table.Meter)) }

// read is one item as a plain read sees it.
func (t *Table) read(ctx context.Context, k keys.Raw, c table.Consistency) (*table.Item, error) {
	newest, err := t.inner.Get(ctx, k, table.Strong)
	if err != nil {
		return nil, err
	}
	return t.show(k, newest, c), nil
}

// Get implements table.Reader.
func (t *Table) Get(ctx context.Context, key keys.Raw, c table.Consistency) (*table.Item, error) {
	if err := t.before(ctx, Call{Kind: Get, Keys: []keys.Raw{key}}); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.overdue()
	it, err := t.read(silent(ctx), key, c)
	if err != nil {
		return nil, err
	}
	table.Spend(ctx, table.Cost{Ops: 1, RRU: table.ReadUnits(table.Size(it), c)})
	return it, nil
}

// BatchGet implements table.Reader. Its rounds are moments of their own: other
// callers get between.
func (t *Table) BatchGet(ctx context.Context, wanted []keys.Raw, c table.Consistency) ([]*table.Item, error) {
	found := make(map[keys.Raw]*table.Item, len(wanted))
	distinct := make([]keys.Raw, 0, len(wanted))
	for _, k := range wanted {
		if !k.Valid() {
			return nil, table.ErrInvalidKey
		}
		if _, again := found[k]; !again {
			found[k] = nil
			distinct = append(distinct, k)
		}
	}
	for start := 0; start < len(distinct); start += table.MaxBatchGet {
		left := distinct[start:min(start+table.MaxBatchGet, len(distinct))]
		for round := 0; len(left) > 0; round++ {
			if round > batchRounds {
				return nil, fmt.Errorf("%w: %d keys of a batch left out", table.ErrThrottled, len(left))
			}
			var err error
			if left, err = t.batch(ctx, left, c, found); err != nil {
				return nil, err
			}
		}
	}
	items := make([]*table.Item, len(wanted))
	for i, k := range wanted {
		items[i] = found[k]
	}
	return items, nil
}

// batch is one round; left are the keys without an answer.
func (t *Table) batch(ctx context.Context, asked []keys.Raw, c table.Consistency, found map[keys.Raw]*table.Item) (left []keys.Raw, err error) {
	if err := t.before(ctx, Call{Kind: BatchGet, Keys: asked}); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.overdue()
	cost, quiet := table.Cost{Ops: 1}, silent(ctx)
	for _, k := range asked {
		if t.chance(t.knobs.Unprocessed) {
			left = append(left, k)
			continue
		}
		it, err := t.read(quiet, k, c)
		if err != nil {
			return nil, err
		}
		found[k] = it
		cost.RRU += table.ReadUnits(table.Size(it), c)
	}
	table.Spend(ctx, cost)
	return left, nil
}

// TransactGet implements table.Reader: it sees the newest state, or meets a conflict.
func (t *Table) TransactGet(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
	if err := table.ValidateSnapshot(wanted); err != nil {
		return nil, err
	}
	if err := t.before(ctx, Call{Kind: TransactGet, Keys: wanted}); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.overdue()
	if t.clash(wanted) {
		table.Spend(ctx, table.Cost{Ops: 1})
		return nil, table.ErrConflict
	}
	return t.inner.TransactGet(ctx, wanted)
}

// clash says whether a transaction on these items meets another one.
func (t *Table) clash(wanted []keys.Raw) bool {
	if t.chance(t.knobs.Conflicts) {
		return true
	}
	for _, k := range wanted {
		if t.late[k] != nil {
			return t.chance(t.knobs.Clash)
		}
	}
	return false
}

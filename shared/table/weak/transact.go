package weak

import (
	"context"
	"reflect"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Transact implements table.Writer: its conditions see the newest state.
func (t *Table) Transact(ctx context.Context, tx table.Tx) error {
	if err := tx.Validate(); err != nil {
		return err
	}
	touched := make([]keys.Raw, len(tx.Ops))
	for i, op := range tx.Ops {
		touched[i] = op.Key
	}
	if err := t.before(ctx, Call{Kind: Transact, Keys: touched, Tx: &tx}); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.overdue()
	if t.clash(touched) {
		table.Spend(ctx, table.Cost{Ops: 1})
		return table.ErrConflict
	}
	if t.chance(t.knobs.Drops) {
		return table.ErrUnknownOutcome
	}
	if err := t.commit(ctx, tx, touched); err != nil {
		return err
	}
	if t.chance(t.knobs.Losses) {
		return table.ErrUnknownOutcome
	}
	if t.chance(t.knobs.Retries) {
		return t.commit(ctx, tx, touched)
	}
	return nil
}

// change is what a transaction did to one item.
type change struct {
	key      keys.Raw
	old, new *table.Item
}

// commit carries the transaction out beneath, and starts to show it.
func (t *Table) commit(ctx context.Context, tx table.Tx, touched []keys.Raw) error {
	quiet := silent(ctx)
	old, err := t.inner.BatchGet(quiet, touched, table.Strong)
	if err != nil {
		return err
	}
	if err := t.inner.Transact(ctx, tx); err != nil {
		return err
	}
	now, err := t.inner.BatchGet(quiet, touched, table.Strong)
	if err != nil {
		return err
	}
	changes := make([]change, 0, len(touched))
	for i, k := range touched {
		if old[i] != now[i] && !reflect.DeepEqual(old[i], now[i]) {
			changes = append(changes, change{k, old[i], now[i]})
		}
	}
	if repeated := tx.Token != "" && len(changes) == 0; t.opt.Committed != nil && !repeated {
		t.opt.Committed(tx, t.opt.Now())
	}
	if t.knobs.Torn > 0 || t.knobs.FeedLag > 0 {
		t.opt.Rand.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	}
	for _, c := range changes {
		t.feed.add(c, t.opt.Now(), t.within(t.knobs.FeedLag))
		t.arriveLater(c)
	}
	return nil
}

// arriveLater shows a change to plain reads, at once or within the bound. An
// item's own writes become visible in their order.
func (t *Table) arriveLater(c change) {
	l := t.late[c.key]
	if l == nil && !t.chance(t.knobs.Torn) {
		t.remember(c.key, c.old, t.opt.Now())
		return
	}
	if l == nil {
		l = &late{shown: c.old}
		t.late[c.key] = l
		t.order = append(t.order, c.key)
	}
	l.queue = append(l.queue, arrival{c.new, t.within(t.knobs.Visible)})
}

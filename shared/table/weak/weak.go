// Package weak makes a strong table as weak as DynamoDB may be: plain reads see
// a transaction item by item, eventual ones an earlier moment, transactions
// meet conflicts, answers get lost, batches and pages come short, the feed
// tells things late, apart and twice. A protocol that is right only over a
// strong table fails here.
//
// All chance comes from one seeded source and all time from one clock, so the
// same calls in the same order give the same answers. For tests only.
package weak

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Knobs say how weak the table is. The zero value is as strong as what it wraps.
// Chances are from 0 to 1.
type Knobs struct {
	Torn    float64       // chance that plain reads do not see an item of a transaction at once
	Visible time.Duration // within which they do
	Lag     time.Duration // eventual reads and indexes show what was visible up to that long ago

	Conflicts float64 // chance of ErrConflict, of a transaction or a snapshot
	Clash     float64 // the same where one of the items is still becoming visible

	Drops   float64 // chance of ErrUnknownOutcome for a transaction that never arrived
	Losses  float64 // chance of ErrUnknownOutcome for one that was committed
	Retries float64 // chance that a committed one is sent again, and the answer is the second one's

	Unprocessed float64 // chance of a key in a batch to be left out, and asked for again
	Short       float64 // chance of a page to end after one or two items

	FeedLag time.Duration // within which a change reaches the feed; those of other partitions may overtake it
	Doubled float64       // chance that the feed tells its last changes once more
}

// Draw is a schedule's own weakness: each kind is absent, rare or frequent.
func Draw(rnd *rand.Rand) Knobs {
	of := func(chances ...float64) float64 { return chances[rnd.IntN(len(chances))] }
	return Knobs{
		Torn: of(0, 0.3, 0.7, 0.95), Visible: 20 * time.Second, Lag: time.Second,
		Conflicts: of(0, 0.03, 0.1), Clash: of(0, 0.3),
		Drops: of(0, 0, 0.05), Losses: of(0, 0, 0.1), Retries: of(0, 0, 0.05),
		Unprocessed: of(0, 0.1), Short: of(0, 0.3, 0.7),
		FeedLag: time.Duration(of(0, 5)) * time.Second, Doubled: of(0, 0.2),
	}
}

// Kind is what a call is.
type Kind uint8

// The kinds of calls.
const (
	Get Kind = iota + 1
	BatchGet
	TransactGet
	Query
	Transact
	Changes
)

// Call is one call that is about to reach the table.
type Call struct {
	Kind  Kind
	Keys  []keys.Raw   // of Get, BatchGet, TransactGet and Transact
	Query *table.Query // of Query
	Tx    *table.Tx    // of Transact
}

// Options make a Table.
type Options struct {
	Knobs Knobs
	Rand  *rand.Rand       // used under the table's lock only
	Now   func() time.Time // virtual time
	// Before runs before every call, and again for the keys of a batch that were
	// left out, in the caller's goroutine and outside all locks: a scheduler
	// stops the caller here. An error ends the call with nothing done. May be nil.
	Before func(context.Context, Call) error
	// Committed runs at the instant a transaction is accepted, under the table's
	// lock: it must not call the table. A token's repetition is no acceptance.
	// May be nil.
	Committed func(tx table.Tx, at time.Time)
}

// Table is a weak table.Store and table.Feed. Safe for concurrent use; every
// write must go through it.
type Table struct {
	inner table.Store
	opt   Options

	mu    sync.Mutex
	knobs Knobs
	late  map[keys.Raw]*late
	order []keys.Raw // of late, in the order that they became so
	past  map[keys.Raw][]earlier
	feed  feed
}

// late is an item whose latest writes plain reads do not see yet.
type late struct {
	shown *table.Item // what they see
	queue []arrival
}

// arrival is a written item, nil when removed, and when it becomes visible at
// the latest.
type arrival struct {
	item *table.Item
	at   time.Time
}

// earlier is what plain reads saw until a moment.
type earlier struct {
	item  *table.Item
	until time.Time
}

// New wraps a table.
func New(inner table.Store, opt Options) *Table {
	return &Table{
		inner: inner, opt: opt, knobs: opt.Knobs,
		late: map[keys.Raw]*late{}, past: map[keys.Raw][]earlier{},
	}
}

// Turn sets other knobs from here on. What is on its way keeps its time.
func (t *Table) Turn(k Knobs) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.knobs = k
}

// chance draws. Without a knob nothing is drawn, so that knobs do not disturb
// each other's draws.
func (t *Table) chance(p float64) bool { return p > 0 && t.opt.Rand.Float64() < p }

// within draws a moment from now on.
func (t *Table) within(d time.Duration) time.Time {
	if d <= 0 {
		return t.opt.Now()
	}
	return t.opt.Now().Add(time.Duration(t.opt.Rand.Int64N(int64(d))))
}

// before runs the hook.
func (t *Table) before(ctx context.Context, c Call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.opt.Before == nil {
		return nil
	}
	return t.opt.Before(ctx, c)
}

// Advance makes the next write of one item visible, chosen by chance, and says
// whether there was one.
func (t *Table) Advance() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		return false
	}
	t.arrive(t.order[t.opt.Rand.IntN(len(t.order))])
	return true
}

// Settle makes everything visible to everyone, and tells the feed all of it.
func (t *Table) Settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.order) > 0 {
		t.arrive(t.order[0])
	}
	clear(t.past)
	t.releaseAll()
}

// overdue makes visible what must be by now.
func (t *Table) overdue() {
	now := t.opt.Now()
	for i := 0; i < len(t.order); {
		k := t.order[i]
		if t.late[k].queue[0].at.After(now) {
			i++
			continue
		}
		t.arrive(k) // when it was the last one, order[i] is another item now
	}
}

// arrive makes an item's next write visible.
func (t *Table) arrive(k keys.Raw) {
	l := t.late[k]
	next := l.queue[0]
	l.queue = l.queue[1:]
	until := t.opt.Now()
	if next.at.Before(until) {
		until = next.at
	}
	t.remember(k, l.shown, until)
	l.shown = next.item
	if len(l.queue) > 0 {
		return
	}
	delete(t.late, k)
	for i, other := range t.order {
		if other == k {
			t.order = append(t.order[:i], t.order[i+1:]...)
			return
		}
	}
}

// remember keeps what plain reads saw, for eventual ones.
func (t *Table) remember(k keys.Raw, it *table.Item, until time.Time) {
	if t.knobs.Lag > 0 {
		t.past[k] = append(t.recent(k), earlier{it, until})
	}
}

// recent is what eventual reads may still show besides what is visible.
func (t *Table) recent(k keys.Raw) []earlier {
	seen := t.past[k]
	if len(seen) == 0 {
		return nil
	}
	oldest := t.opt.Now().Add(-t.knobs.Lag)
	for len(seen) > 0 && seen[0].until.Before(oldest) {
		seen = seen[1:]
	}
	if len(seen) == 0 {
		delete(t.past, k)
		return nil
	}
	t.past[k] = seen
	return seen
}

// show is what a plain read of that consistency sees of an item, given its
// newest state.
func (t *Table) show(k keys.Raw, newest *table.Item, c table.Consistency) *table.Item {
	if l := t.late[k]; l != nil {
		newest = l.shown
	}
	if c == table.Strong {
		return newest
	}
	seen := t.recent(k)
	if len(seen) == 0 {
		return newest
	}
	if i := t.opt.Rand.IntN(len(seen) + 1); i < len(seen) {
		return seen[i].item
	}
	return newest
}

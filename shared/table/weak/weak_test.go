package weak_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/tabletest"
	"github.com/wardenhq/warden/shared/table/weak"
	"github.com/wardenhq/warden/shared/table/weak/memory"
)

func TestConformance(t *testing.T) {
	leave := map[table.Store]*atomic.Int64{}
	tabletest.Run(t, tabletest.Harness{
		New: func(*testing.T) (table.Store, table.Feed) {
			left := new(atomic.Int64)
			var w *weak.Table
			w = weak.New(memory.New(time.Now), weak.Options{
				Rand: rand.New(rand.NewPCG(1, 1)), Now: time.Now,
				Before: func(_ context.Context, c weak.Call) error {
					if c.Kind != weak.BatchGet {
						return nil
					}
					var k weak.Knobs
					if left.Add(-1) >= 0 {
						k.Unprocessed = 1
					}
					w.Turn(k)
					return nil
				},
			})
			leave[w] = left
			return w, w
		},
		LeaveOut: func(s table.Store, calls int) { leave[s].Store(int64(calls)) },
	})
}

// world is a weak table with a clock that only the test moves.
type world struct {
	*testing.T
	*weak.Table

	now time.Time
}

func open(t *testing.T, k weak.Knobs) *world {
	w := &world{T: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return w.now }
	w.Table = weak.New(memory.New(clock), weak.Options{Knobs: k, Rand: rand.New(rand.NewPCG(7, 7)), Now: clock})
	return w
}

func item(pk, sk string, version uint64) *table.Item {
	it := &table.Item{Key: keys.Stored(pk, sk), Type: "test", Version: version, Format: 1}
	it.Index[0] = keys.StoredIndexKey("ALL", sk)
	return it
}

func (w *world) write(items ...*table.Item) error {
	var tx table.Tx
	for _, it := range items {
		tx.Ops = append(tx.Ops, table.Put(it, table.Any()))
	}
	return w.Transact(w.Context(), tx)
}

func (w *world) mustWrite(items ...*table.Item) {
	w.Helper()
	if err := w.write(items...); err != nil {
		w.Fatal(err)
	}
}

func (w *world) version(k keys.Raw, c table.Consistency) uint64 {
	w.Helper()
	it, err := w.Get(w.Context(), k, c)
	if err != nil {
		w.Fatal(err)
	}
	return table.VersionOf(it)
}

// versions counts what many reads show.
func versions(n int, read func() uint64) map[uint64]int {
	seen := map[uint64]int{}
	for range n {
		seen[read()]++
	}
	return seen
}

func TestTornTransactionsShowItemByItem(t *testing.T) {
	w := open(t, weak.Knobs{Torn: 0.5, Visible: 20 * time.Second})
	torn := false
	for v := uint64(1); v <= 20; v++ {
		w.mustWrite(item("P", "a", v), item("Q", "b", v), item("P", "c", v))
		a, b := w.version(keys.Stored("P", "a"), table.Strong), w.version(keys.Stored("Q", "b"), table.Strong)
		torn = torn || a != b
		page, err := w.Query(t.Context(), table.Query{PK: "P", Prefix: "a", Limit: 10, Consistency: table.Strong})
		if err != nil {
			t.Fatal(err)
		}
		if a != 0 && page.Items[0].Version != a || a == 0 && len(page.Items) != 0 {
			t.Fatalf("a query shows another state than a get: %+v, version %d", page.Items, a)
		}
		snapshot, err := w.TransactGet(t.Context(), []keys.Raw{keys.Stored("P", "a"), keys.Stored("Q", "b")})
		if err != nil {
			t.Fatal(err)
		}
		if snapshot[0].Version != v || snapshot[1].Version != v {
			t.Fatalf("a snapshot shows %v after version %d", snapshot, v)
		}
		w.now = w.now.Add(time.Second)
	}
	if !torn {
		t.Error("no transaction was seen in part")
	}
	w.now = w.now.Add(20 * time.Second)
	if a, b := w.version(keys.Stored("P", "a"), table.Strong), w.version(keys.Stored("Q", "b"), table.Strong); a != 20 || b != 20 {
		t.Errorf("versions %d and %d after the bound, want 20", a, b)
	}
}

func TestAnItemsWritesShowInOrder(t *testing.T) {
	w := open(t, weak.Knobs{Torn: 1, Visible: 20 * time.Second})
	k := keys.Stored("P", "a")
	for v := uint64(1); v <= 5; v++ {
		w.mustWrite(item("P", "a", v))
	}
	for want := uint64(0); want < 5; want++ {
		if got := w.version(k, table.Strong); got != want {
			t.Fatalf("version %d, want %d", got, want)
		}
		if !w.Advance() {
			t.Fatalf("nothing to show after version %d", want)
		}
	}
	if w.Advance() || w.version(k, table.Strong) != 5 {
		t.Error("not everything was shown")
	}
}

func TestEventualReadsLag(t *testing.T) {
	w := open(t, weak.Knobs{Lag: time.Second})
	k := keys.Stored("P", "a")
	w.mustWrite(item("P", "a", 1))
	w.now = w.now.Add(2 * time.Second)
	w.mustWrite(item("P", "a", 2))
	w.now = w.now.Add(time.Second / 2)
	removed := table.Tx{Ops: []table.Op{table.Delete(k, table.Any())}}
	if err := w.Transact(t.Context(), removed); err != nil {
		t.Fatal(err)
	}
	index := func() uint64 {
		page, err := w.Query(t.Context(), table.Query{Index: keys.GSI1, PK: "ALL", Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) == 0 {
			return 0
		}
		return page.Items[0].Version
	}
	for name, read := range map[string]func() uint64{
		"get":   func() uint64 { return w.version(k, table.Eventual) },
		"index": index,
	} {
		if seen := versions(200, read); seen[0] == 0 || seen[1] == 0 || seen[2] == 0 || len(seen) != 3 {
			t.Errorf("%s shows %v, want all of versions 1, 2 and nothing", name, seen)
		}
	}
	if seen := versions(50, func() uint64 { return w.version(k, table.Strong) }); seen[0] != 50 {
		t.Errorf("strong reads show %v", seen)
	}
	w.now = w.now.Add(time.Second * 3 / 4) // version 1 is out of the bound
	if seen := versions(200, index); seen[1] != 0 || seen[2] == 0 {
		t.Errorf("the index shows %v, want no version 1", seen)
	}
	w.Settle()
	if seen := versions(50, index); seen[0] != 50 {
		t.Errorf("after settling the index shows %v", seen)
	}
}

func TestConflicts(t *testing.T) {
	w := open(t, weak.Knobs{Conflicts: 0.5})
	check := table.Tx{Ops: []table.Op{table.Check(keys.Stored("P", "a"), table.Absent())}}
	conflicts := 0
	for range 100 {
		switch err := w.Transact(t.Context(), check); {
		case errors.Is(err, table.ErrConflict):
			conflicts++
		case err != nil:
			t.Fatal(err)
		}
	}
	if conflicts < 20 || conflicts > 80 {
		t.Errorf("%d conflicts of checks alone in 100", conflicts)
	}

	w = open(t, weak.Knobs{Torn: 1, Visible: time.Second, Clash: 1})
	w.mustWrite(item("P", "a", 1))
	if err := w.write(item("P", "a", 2)); !errors.Is(err, table.ErrConflict) {
		t.Errorf("error %v while the item was becoming visible", err)
	}
	if _, err := w.TransactGet(t.Context(), []keys.Raw{keys.Stored("P", "a")}); !errors.Is(err, table.ErrConflict) {
		t.Errorf("error %v of a snapshot while the item was becoming visible", err)
	}
	w.mustWrite(item("P", "b", 1))
	w.Settle()
	w.mustWrite(item("P", "a", 2))
}

func TestLostAnswers(t *testing.T) {
	w := open(t, weak.Knobs{Losses: 1})
	k := keys.Stored("P", "a")
	if err := w.write(item("P", "a", 1)); !errors.Is(err, table.ErrUnknownOutcome) || w.version(k, table.Strong) != 1 {
		t.Errorf("error %v, version %d: want a commit of unknown outcome", err, w.version(k, table.Strong))
	}
	w.Turn(weak.Knobs{Drops: 1})
	if err := w.write(item("P", "a", 2)); !errors.Is(err, table.ErrUnknownOutcome) || w.version(k, table.Strong) != 1 {
		t.Errorf("error %v, version %d: want nothing written, outcome unknown", err, w.version(k, table.Strong))
	}
	w.Turn(weak.Knobs{Retries: 1})
	var own *table.CanceledError
	err := w.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Put(item("P", "a", 2), table.VersionIs(1))}})
	if !errors.As(err, &own) || own.Reasons[0].Found.Version != 2 {
		t.Errorf("error %v, want the second try to meet the first one's success", err)
	}
	if err := w.Transact(t.Context(), table.Tx{
		Token: "t", Ops: []table.Op{table.Put(item("P", "a", 3), table.VersionIs(2))},
	}); err != nil {
		t.Errorf("error %v, want the token to tell the second try", err)
	}
}

func TestBatchesAndPagesComeShort(t *testing.T) {
	w := open(t, weak.Knobs{Unprocessed: 0.3, Short: 1})
	var wanted []keys.Raw
	for i := range 20 {
		it := item("P", fmt.Sprintf("a%02d", i), 1)
		w.mustWrite(it)
		wanted = append(wanted, it.Key)
	}
	var m table.Meter
	got, err := w.BatchGet(table.WithMeter(t.Context(), &m), wanted, table.Strong)
	if err != nil || slices.Contains(got, nil) {
		t.Fatalf("batch: %v, %v", got, err)
	}
	if c := m.Cost(); c.Ops < 2 || c.RRU != 20 {
		t.Errorf("a batch with keys left out costs %v", c)
	}
	w.Turn(weak.Knobs{Unprocessed: 1, Short: 1})
	if _, err := w.BatchGet(t.Context(), wanted, table.Strong); !errors.Is(err, table.ErrThrottled) {
		t.Errorf("error %v of a batch that is never answered", err)
	}
	q, pages, items := table.Query{PK: "P", Prefix: "a", Limit: 100}, 0, 0
	for {
		page, err := w.Query(t.Context(), q)
		if err != nil || len(page.Items) > 2 {
			t.Fatalf("page of %d: %v", len(page.Items), err)
		}
		pages, items = pages+1, items+len(page.Items)
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	if items != 20 || pages < 10 {
		t.Errorf("%d items in %d pages", items, pages)
	}
}

func TestFeedIsApartInterleavedAndDoubled(t *testing.T) {
	w := open(t, weak.Knobs{FeedLag: 10 * time.Second, Doubled: 0.5})
	const rounds = 10
	for v := uint64(1); v <= rounds; v++ {
		w.mustWrite(item("P", "a", v), item("Q", "b", v))
		w.now = w.now.Add(time.Second)
	}
	var told []table.Change
	after := ""
	for read := map[string]bool{}; len(read) < 2*rounds; w.now = w.now.Add(time.Second) {
		changes, next, err := w.Changes(t.Context(), "weak", after, 4)
		if err != nil || next < after {
			t.Fatalf("from %q to %q: %v", after, next, err)
		}
		after = next
		for _, c := range changes {
			read[c.Sequence] = true
		}
		told = append(told, changes...)
	}
	if len(told) == 2*rounds {
		t.Error("nothing was told twice")
	}
	seen, last, apart := map[string]bool{}, map[string]uint64{}, false
	for _, c := range told {
		if seen[c.Sequence] {
			continue
		}
		seen[c.Sequence] = true
		if pk := c.New.Key.PK(); c.New.Version != last[pk]+1 || table.VersionOf(c.Old) != last[pk] {
			t.Fatalf("%s: version %d after %d", pk, c.New.Version, last[pk])
		} else {
			last[pk]++
		}
		apart = apart || last["P"] > last["Q"]+1 || last["Q"] > last["P"]+1
	}
	if !apart {
		t.Error("the records of a transaction always came together")
	}
}

// history is everything that a schedule of one seed shows.
func history(t *testing.T, seed uint64) []string {
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	rnd := rand.New(rand.NewPCG(seed, 0))
	var log []string
	w := weak.New(memory.New(clock), weak.Options{
		Knobs: weak.Draw(rnd), Rand: rnd, Now: clock,
		Before:    func(_ context.Context, c weak.Call) error { log = append(log, fmt.Sprint(c.Kind, c.Keys)); return nil },
		Committed: func(tx table.Tx, at time.Time) { log = append(log, fmt.Sprint("committed", len(tx.Ops), at.Unix())) },
	})
	steps := rand.New(rand.NewPCG(seed, 1))
	for v := range uint64(60) {
		now = now.Add(time.Duration(steps.IntN(2000)) * time.Millisecond)
		a, b := item(fmt.Sprint("P", steps.IntN(4)), "a", v+1), item("Q", fmt.Sprint("b", steps.IntN(4)), v+1)
		err := w.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Put(a, table.Any()), table.Put(b, table.Any())}})
		got, getErr := w.BatchGet(t.Context(), []keys.Raw{a.Key, b.Key}, table.Eventual)
		page, queryErr := w.Query(t.Context(), table.Query{Index: keys.GSI1, PK: "ALL", Limit: 3})
		changes, next, feedErr := w.Changes(t.Context(), "weak", "", 100)
		log = append(log, fmt.Sprint(err, getErr, queryErr, feedErr, next, len(changes), page.Cursor))
		for _, it := range append(got, page.Items...) {
			log = append(log, fmt.Sprint(table.VersionOf(it)))
		}
	}
	return log
}

func TestSameSeedSameBehaviour(t *testing.T) {
	first := history(t, 1)
	for seed := range uint64(30) {
		if a, b := history(t, seed), history(t, seed); !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d behaves in two ways", seed)
		}
	}
	if reflect.DeepEqual(first, history(t, 2)) {
		t.Error("two seeds behave alike")
	}
}

func TestHooks(t *testing.T) {
	stopped := errors.New("stopped")
	var calls []weak.Kind
	var committed []int
	stop := false
	w := weak.New(memory.New(time.Now), weak.Options{
		Now: time.Now,
		Before: func(_ context.Context, c weak.Call) error {
			calls = append(calls, c.Kind)
			if stop {
				return stopped
			}
			return nil
		},
		Committed: func(tx table.Tx, _ time.Time) { committed = append(committed, len(tx.Ops)) },
	})
	a := item("P", "a", 1)
	create := table.Tx{Token: "t", Ops: []table.Op{table.Put(a, table.Absent())}}
	for range 2 { // the second is a repetition
		if err := w.Transact(t.Context(), create); err != nil {
			t.Fatal(err)
		}
	}
	create.Token = ""
	if err := w.Transact(t.Context(), create); err == nil {
		t.Error("created twice")
	}
	stop = true
	if err := w.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Delete(a.Key, table.Any())}}); !errors.Is(err, stopped) {
		t.Errorf("error %v of a stopped call", err)
	}
	stop = false
	if it, err := w.Get(t.Context(), a.Key, table.Strong); it == nil || err != nil {
		t.Errorf("a stopped call was carried out: %v, %v", it, err)
	}
	if want := []weak.Kind{weak.Transact, weak.Transact, weak.Transact, weak.Transact, weak.Get}; !slices.Equal(calls, want) {
		t.Errorf("calls %v, want %v", calls, want)
	}
	if !slices.Equal(committed, []int{1}) {
		t.Errorf("committed %v, want one of one operation", committed)
	}
}

// BenchmarkSchedule is a schedule of 50 calls from making its table on.
func BenchmarkSchedule(b *testing.B) {
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	for b.Loop() {
		rnd := rand.New(rand.NewPCG(1, 1))
		w := weak.New(memory.New(clock), weak.Options{Knobs: weak.Draw(rnd), Rand: rnd, Now: clock})
		for v := range uint64(10) {
			now = now.Add(time.Second)
			x, y := item("P", "a", v+1), item("Q", "b", v+1)
			tx := table.Tx{Ops: []table.Op{table.Put(x, table.Any()), table.Put(y, table.Any())}}
			if err := w.Transact(b.Context(), tx); err != nil && !errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrUnknownOutcome) {
				b.Fatal(err)
			}
			for _, c := range []table.Consistency{table.Strong, table.Eventual} {
				if _, err := w.Get(b.Context(), x.Key, c); err != nil {
					b.Fatal(err)
				}
				if _, err := w.Query(b.Context(), table.Query{PK: "P", Prefix: "a", Limit: 10, Consistency: c}); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

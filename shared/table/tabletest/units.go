package tabletest

import (
	"context"
	"fmt"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

var costPromises = []promise{{"Units", units}}

// cost is what the calls spend.
func (w *world) cost(calls func(context.Context) error) table.Cost {
	w.Helper()
	var m table.Meter
	w.must(calls(table.WithMeter(w.Context(), &m)))
	return m.Cost()
}

// units holds calls to numbers computed by hand from DynamoDB's rules: a read
// unit covers 4 KB read strongly (half when read eventually, two in a
// transaction), a write unit 1 KB (two in a transaction, one in an index).
func units(w *world) {
	tiny, block, over := sized(key("R#1"), 1, 200), sized(key("R#2"), 1, 4096), sized(key("R#3"), 1, 4097)
	largest := sized(keys.Stored("Q", "R#4"), 1, 400<<10)
	absent := key("NONE")
	w.write(put(tiny), put(block), put(over), put(largest))
	w.readUnits(tiny.Key, block.Key, over.Key, largest.Key, absent)
	w.queryUnits()
	w.indexQueryUnits()
	w.writeUnits()
	w.canceledUnits()
}

func (w *world) readUnits(tiny, block, over, largest, absent keys.Raw) {
	w.Helper()
	for _, c := range []struct {
		what             string
		wanted           []keys.Raw
		strong, snapshot float64
	}{
		{"200 bytes", []keys.Raw{tiny}, 1, 2},
		{"4096 bytes", []keys.Raw{block}, 1, 2},
		{"4097 bytes", []keys.Raw{over}, 2, 4},
		{"400 KB", []keys.Raw{largest}, 100, 200},
		{"nothing", []keys.Raw{absent}, 1, 2},
		{"each rounded up by itself", []keys.Raw{tiny, block, over, absent}, 5, 10},
	} {
		for consistency, rru := range map[table.Consistency]float64{table.Strong: c.strong, table.Eventual: c.strong / 2} {
			w.wantCost(c.what+", batch", table.Cost{Ops: 1, RRU: rru}, func(ctx context.Context) error {
				_, err := w.store.BatchGet(ctx, c.wanted, consistency)
				return err
			})
			w.wantCost(c.what+", gets", table.Cost{Ops: len(c.wanted), RRU: rru}, func(ctx context.Context) error {
				for _, k := range c.wanted {
					if _, err := w.store.Get(ctx, k, consistency); err != nil {
						return err
					}
				}
				return nil
			})
		}
		w.wantCost(c.what+", snapshot", table.Cost{Ops: 1, RRU: c.snapshot}, func(ctx context.Context) error {
			_, err := w.store.TransactGet(ctx, c.wanted)
			return err
		})
	}
}

func (w *world) wantCost(what string, want table.Cost, calls func(context.Context) error) {
	w.Helper()
	if got := w.cost(calls); got != want {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}

// queryUnits: a page's sizes are summed, then rounded up.
func (w *world) queryUnits() {
	w.Helper()
	var items []*table.Item
	for i := range 3 {
		items = append(items, sized(keys.Stored("QUERY", fmt.Sprintf("A#%d", i)), 1, 3000))
	}
	w.fill(items...)
	for _, c := range []struct {
		what string
		q    table.Query
		want table.Cost
	}{
		{"9000 bytes", table.Query{Prefix: "A#", Limit: 10}, table.Cost{Ops: 1, RRU: 1.5}},
		{"9000 bytes strong", table.Query{Prefix: "A#", Limit: 10, Consistency: table.Strong}, table.Cost{Ops: 1, RRU: 3}},
		{"6000 bytes", table.Query{Prefix: "A#", Limit: 2, Consistency: table.Strong}, table.Cost{Ops: 1, RRU: 2}},
		{"3000 bytes", table.Query{From: "A#1", To: "A#1", Limit: 2}, table.Cost{Ops: 1, RRU: 0.5}},
		{"nothing", table.Query{Prefix: "B#", Limit: 2}, table.Cost{Ops: 1, RRU: 0.5}},
	} {
		c.q.PK = "QUERY"
		w.wantCost("query of "+c.what, c.want, func(ctx context.Context) error {
			_, err := w.store.Query(ctx, c.q)
			return err
		})
	}
}

// indexQueryUnits: an index is charged for what it projects.
func (w *world) indexQueryUnits() {
	w.Helper()
	var items []*table.Item
	for i := range 3 {
		it := item(keys.Stored("INDEXED", fmt.Sprintf("A#%d", i)), 1)
		it.Blob = make([]byte, 5000) // in no index
		indexed(indexed(it, keys.GSI1, "UNITS", "1"), keys.GSI4, "UNITS", "4")
		it.Body = make([]byte, 2900) // in GSI1, not in GSI4
		for b := range it.Body {
			it.Body[b] = 'x'
		}
		items = append(items, it)
	}
	w.fill(items...)
	for index, rru := range map[keys.Index]float64{keys.GSI1: 1.5, keys.GSI4: 0.5, keys.GSI2: 0.5} {
		w.wantCost("query of "+index.String(), table.Cost{Ops: 1, RRU: rru}, func(ctx context.Context) error {
			_, err := w.store.Query(ctx, table.Query{Index: index, PK: "UNITS", Limit: 10})
			return err
		})
	}
}

// writeUnits walks items of one partition through their lives.
func (w *world) writeUnits() {
	w.Helper()
	at := func(sk string, version uint64, size int) *table.Item {
		return sized(keys.Stored("W", sk), version, size)
	}
	in := func(index keys.Index, pk string, version uint64) *table.Item { // of 2000 bytes
		it := indexed(item(keys.Stored("W", "I#"+index.String()), version), index, pk, "s")
		it.Body = sizedBody(it, 2000)
		return it
	}
	for _, c := range []struct {
		what string
		want float64
		ops  []table.Op
	}{
		{"a new KB", 2, []table.Op{put(at("A", 1, 1024))}},
		{"one byte more", 4, []table.Op{put(at("A", 2, 1025))}},
		{"back to a KB: the larger counts", 4, []table.Op{put(at("A", 3, 1024))}},
		{"a check", 2, []table.Op{table.Check(keys.Stored("W", "A"), table.VersionIs(3))}},
		{"a check of nothing", 2, []table.Op{table.Check(keys.Stored("W", "Z"), table.Absent())}},
		{"the largest", 800, []table.Op{put(at("B", 1, 400<<10))}},
		{"a check of the largest", 800, []table.Op{table.Check(keys.Stored("W", "B"), table.Present())}},
		{"removing the largest", 800, []table.Op{table.Delete(keys.Stored("W", "B"), table.Any())}},
		{"removing nothing", 2, []table.Op{table.Delete(keys.Stored("W", "B"), table.Any())}},
		{"several", 2 + 6 + 2, []table.Op{put(at("A", 4, 1000)), put(at("C", 1, 3000)), table.Check(keys.Stored("W", "D"), table.Absent())}},
		{"new in GSI1", 4 + 2, []table.Op{put(in(keys.GSI1, "x", 1))}},
		{"changed in GSI1", 4 + 2, []table.Op{put(in(keys.GSI1, "x", 2))}},
		{"moved in GSI1", 4 + 2 + 2, []table.Op{put(in(keys.GSI1, "y", 3))}},
		{"out of GSI1", 4 + 2, []table.Op{put(at("I#GSI1", 4, 2000))}},
		{"GSI4 has no body", 4 + 1, []table.Op{put(in(keys.GSI4, "x", 1))}},
		{"moved in GSI4", 4 + 1 + 1, []table.Op{put(in(keys.GSI4, "y", 2))}},
		{"removed from GSI4 too", 4 + 1, []table.Op{table.Delete(keys.Stored("W", "I#GSI4"), table.VersionIs(2))}},
	} {
		w.wantCost(c.what, table.Cost{Ops: 1, WRU: c.want}, func(ctx context.Context) error {
			return w.store.Transact(ctx, table.Tx{Ops: c.ops})
		})
	}
}

func sizedBody(it *table.Item, size int) []byte {
	return sized(it.Key, it.Version, size-indexSize(it)).Body
}

// indexSize is what an item's index keys add to its size.
func indexSize(it *table.Item) int {
	plain := *it
	plain.Index = [keys.Indexes]keys.IndexKey{}
	return table.Size(it) - table.Size(&plain)
}

// canceledUnits: a refused transaction is charged for the items it looked at,
// at least two units each, and at most as if it had been carried out.
func (w *world) canceledUnits() {
	w.Helper()
	w.write(put(sized(keys.Stored("C", "A"), 1, 3000)))
	got := w.cost(func(ctx context.Context) error {
		w.wantCanceled(w.store.Transact(ctx, table.Tx{Ops: []table.Op{
			table.Put(sized(keys.Stored("C", "A"), 2, 500), table.Absent()),
			put(sized(keys.Stored("C", "B"), 1, 5000)),
		}}))
		return nil
	})
	if got.Ops != 1 || got.RRU != 0 || got.WRU < 4 || got.WRU > 6+10 {
		w.Errorf("a canceled transaction: %v", got)
	}
}

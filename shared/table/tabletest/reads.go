package tabletest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

var readPromises = []promise{
	{"GetStrong", getStrong},
	{"GetEventual", getEventual},
	{"GetAbsent", getAbsent},
	{"BatchGetDedupe", batchGetDedupe},
	{"BatchGetOver100", batchGetOver100},
	{"BatchGetUnprocessed", batchGetUnprocessed},
	{"SnapshotGet", snapshotGet},
	{"SnapshotGetLimit", snapshotGetLimit},
}

func getStrong(w *world) {
	full := &table.Item{
		Key: key("FULL"), Type: "role", Version: 1<<63 + 5, Format: 3,
		CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		UpdatedAt: time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		Actor:     "user:Zoë", RequestID: "req-1", LastEvent: "01JZ",
		TTL:  time.Now().Add(time.Hour).Unix(),
		Body: []byte(`{"name":"Zoë 🦊 \u0000 \" \\"}`), Blob: []byte{0, 1, 0xff, 0xfe, 0},
	}
	for i := range keys.Indexes {
		indexed(full, keys.Index(i+1), fmt.Sprintf("I%d", i), "x#é")
	}
	w.must(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{put(full)}}))
	w.wantStored(full.Key, full)

	for v := uint64(1); v <= 20; v++ {
		it := item(key("COUNTER"), v)
		w.must(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{put(it)}}))
		w.wantStored(it.Key, it)
		got, err := w.store.BatchGet(w.Context(), []keys.Raw{it.Key}, table.Strong)
		w.must(err)
		w.wantSame(got, []*table.Item{it})
		w.wantSame(w.all(table.Query{PK: "P", Prefix: "COUNTER", Limit: 10, Consistency: table.Strong}), []*table.Item{it})
	}
	w.must(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Delete(key("COUNTER"), table.Any())}}))
	w.wantStored(key("COUNTER"), nil)
}

func getEventual(w *world) {
	const writes = 40
	states := map[uint64]*table.Item{0: nil}
	for v := uint64(1); v <= writes; v++ {
		states[v] = item(key("A"), v)
	}
	var writer sync.WaitGroup
	written := make(chan error, writes)
	writer.Go(func() {
		for v := uint64(1); v <= writes; v++ {
			written <- w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{put(states[v])}})
		}
		close(written)
	})
	defer writer.Wait()
	for err := range written {
		w.must(err)
		got, err := w.store.Get(w.Context(), key("A"), table.Eventual)
		w.must(err)
		w.wantSame(got, states[table.VersionOf(got)])
	}
	w.settle()
	got, err := w.store.Get(w.Context(), key("A"), table.Eventual)
	w.must(err)
	w.wantSame(got, states[writes])
}

func getAbsent(w *world) {
	w.write(put(item(key("A#b"), 1)), put(item(keys.Stored("P#A", "b"), 1)))
	for _, k := range []keys.Raw{key("A"), key("A#"), key("A#b#"), keys.Stored("P#A#b", "b"), keys.Stored("A", "P")} {
		for _, c := range []table.Consistency{table.Eventual, table.Strong} {
			if got, err := w.store.Get(w.Context(), k, c); got != nil || err != nil {
				w.Fatalf("get %v: %v, %v", k, got, err)
			}
		}
		got, err := w.store.BatchGet(w.Context(), []keys.Raw{k, key("A#b")}, table.Strong)
		w.must(err)
		w.wantSame(got, []*table.Item{nil, item(key("A#b"), 1)})
	}
}

func batchGetDedupe(w *world) {
	a, b := item(key("A"), 1), item(key("B"), 2)
	w.write(put(a), put(b))
	got, cost := w.batch(a.Key, b.Key, a.Key, key("NONE"), a.Key, key("NONE"))
	w.wantSame(got, []*table.Item{a, b, a, nil, a, nil})
	w.wantSame(cost, table.Cost{Ops: 1, RRU: 3}) // A, B, NONE: one unit each

	var many []keys.Raw
	for range 250 {
		many = append(many, a.Key)
	}
	got, cost = w.batch(many...)
	w.wantSame(cost, table.Cost{Ops: 1, RRU: 1})
	if len(got) != 250 {
		w.Fatalf("%d answers for 250 keys", len(got))
	}
	got, cost = w.batch()
	w.wantSame(got, []*table.Item{})
	w.wantSame(cost, table.Cost{})
}

// batch reads strongly and tells the cost.
func (w *world) batch(wanted ...keys.Raw) ([]*table.Item, table.Cost) {
	w.Helper()
	var m table.Meter
	got, err := w.store.BatchGet(table.WithMeter(w.Context(), &m), wanted, table.Strong)
	w.must(err)
	return got, m.Cost()
}

func batchGetOver100(w *world) {
	var items []*table.Item
	var wanted []keys.Raw
	for i := range 250 {
		it := item(key(fmt.Sprintf("I%03d", (i*37)%250)), uint64(i+1)) // 37: not in key order
		items, wanted = append(items, it), append(wanted, it.Key)
	}
	w.fill(items...)
	got, cost := w.batch(wanted...)
	w.wantSame(got, items)
	w.wantSame(cost, table.Cost{Ops: 3, RRU: 250})
	_, cost = w.batch(wanted[:100]...)
	w.wantSame(cost, table.Cost{Ops: 1, RRU: 100})
	_, cost = w.batch(wanted[:101]...)
	w.wantSame(cost, table.Cost{Ops: 2, RRU: 101})
}

// batchGetUnprocessed asks for more than the 16 MB that one call of DynamoDB
// answers, and has keys left out where the backend can be told to.
func batchGetUnprocessed(w *world) {
	var items []*table.Item
	var wanted []keys.Raw
	for i := range 45 {
		it := sized(key(fmt.Sprintf("I%02d", i)), 1, 390<<10)
		items, wanted = append(items, it), append(wanted, it.Key)
	}
	w.fill(items...)
	got, _ := w.batch(wanted...)
	w.wantSame(got, items)
	if w.LeaveOut == nil {
		return
	}
	w.LeaveOut(w.store, 2)
	got, cost := w.batch(wanted[:5]...)
	w.wantSame(got, items[:5])
	if cost.Ops != 3 {
		w.Fatalf("%d operations, want the first and two for the keys left out", cost.Ops)
	}
	w.LeaveOut(w.store, 1_000)
	_, err := w.store.BatchGet(w.Context(), wanted[:5], table.Strong)
	w.wantErr(err, table.ErrThrottled)
	w.LeaveOut(w.store, 0)
}

// snapshotGet moves one token along a row of items, in transactions of two
// items each: every snapshot taken meanwhile must show it exactly once.
func snapshotGet(w *world) {
	const row, snapshots = 8, 200
	cell := func(i int) keys.Raw { return keys.Stored(fmt.Sprintf("P%d", i%row), "CELL") }
	wanted := []keys.Raw{keys.Stored("P0", "ABSENT")}
	for i := range row {
		wanted = append(wanted, cell(i))
	}
	w.write(put(item(cell(0), 1)))

	var mover sync.WaitGroup
	ctx, stop := context.WithCancel(w.Context())
	mover.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			err := w.retry(table.Tx{Ops: []table.Op{
				table.Delete(cell(i), table.VersionIs(uint64(i+1))),
				table.Put(item(cell(i+1), uint64(i+2)), table.Absent()),
			}})
			if err != nil {
				w.Errorf("move %d: %v", i, err)
				return
			}
		}
	})
	defer mover.Wait()
	defer stop()
	for range snapshots {
		got := w.snapshot(wanted)
		tokens := 0
		for i, it := range got[1:] {
			if it != nil {
				tokens++
				w.wantSame(it, item(wanted[i+1], it.Version))
			}
		}
		if got[0] != nil || len(got) != row+1 || tokens != 1 {
			w.Fatalf("the snapshot shows %d tokens, want 1", tokens)
		}
	}
	hundred := make([]keys.Raw, 0, table.MaxSnapshotGet)
	for i := range table.MaxSnapshotGet {
		hundred = append(hundred, key(fmt.Sprintf("H%03d", i)))
	}
	w.write(put(item(hundred[99], 7)))
	got := w.snapshot(hundred)
	w.wantSame(got[99], item(hundred[99], 7))
	for _, it := range got[:99] {
		w.wantSame(it, (*table.Item)(nil))
	}
}

func snapshotGetLimit(w *world) {
	wanted := make([]keys.Raw, 0, table.MaxSnapshotGet+1)
	for i := range table.MaxSnapshotGet + 1 {
		wanted = append(wanted, key(fmt.Sprintf("I%03d", i)))
	}
	_, err := w.store.TransactGet(w.Context(), wanted)
	w.wantLimit(err, "snapshot items")
	_, err = w.store.TransactGet(w.Context(), nil)
	w.wantLimit(err, "snapshot items")
	_, err = w.store.TransactGet(w.Context(), []keys.Raw{key("A"), key("B"), key("A")})
	w.wantLimit(err, "same item twice")
	_, err = w.store.TransactGet(w.Context(), []keys.Raw{key("A"), key("")})
	w.wantErr(err, table.ErrInvalidKey)
}

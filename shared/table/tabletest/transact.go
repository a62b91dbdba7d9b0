package tabletest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

var transactPromises = []promise{
	{"TransactAtomic", transactAtomic},
	{"TransactLimits", transactLimits},
	{"TransactAbsent", transactAbsent},
	{"TransactPresent", transactPresent},
	{"TransactVersionIs", transactVersionIs},
	{"TransactCheckOnly", transactCheckOnly},
	{"TransactReasons", transactReasons},
	{"TransactToken", transactToken},
}

func transactAtomic(w *world) {
	w.Run("Model", func(t *testing.T) { w.with(t).againstModel(false) })

	// One failed condition anywhere leaves nothing of the other 99.
	for _, failing := range []int{0, 50, 99} {
		var ops []table.Op
		for i := range table.MaxTransactionItems {
			k := keys.Stored(fmt.Sprintf("FAIL%d", i), "A")
			op := table.Put(item(k, 1), table.Absent())
			if i == failing {
				op = table.Check(k, table.Present())
			}
			ops = append(ops, op)
		}
		w.wantCanceled(w.store.Transact(w.Context(), table.Tx{Ops: ops}))
		for _, op := range ops {
			w.wantStored(op.Key, nil)
		}
	}

	// An ended context before the call writes nothing.
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	if err := w.store.Transact(ctx, table.Tx{Ops: []table.Op{put(item(key("CANCELED"), 1))}}); err == nil {
		w.Fatal("a transaction under an ended context was carried out")
	}
	w.wantStored(key("CANCELED"), nil)
}

func transactLimits(w *world) {
	k := func(i int) keys.Raw { return key(fmt.Sprintf("I%03d", i)) }
	many := func(n, size int) []table.Op {
		var ops []table.Op
		for i := range n {
			ops = append(ops, put(sized(k(i), 1, size)))
		}
		return ops
	}
	w.wantLimit(w.store.Transact(w.Context(), table.Tx{}), "transaction items")
	w.wantLimit(w.store.Transact(w.Context(), table.Tx{Ops: many(101, 200)}), "transaction items")
	w.wantLimit(w.store.Transact(w.Context(), table.Tx{Ops: many(11, 390<<10)}), "transaction size")
	w.wantLimit(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{
		put(item(k(0), 1)), put(item(k(1), 1)), table.Check(k(0), table.Absent()),
	}}), "same item twice")
	w.wantStored(k(0), nil)

	// The largest one there is: 100 items, 4 MB less what their rounding leaves.
	largest := many(table.MaxTransactionItems, table.MaxTransactionBytes/table.MaxTransactionItems)
	w.must(w.store.Transact(w.Context(), table.Tx{Ops: largest}))
	for _, i := range []int{0, 42, 99} {
		w.wantStored(k(i), largest[i].Item)
	}
}

func transactAbsent(w *world) {
	a := item(key("A"), 1)
	w.write(table.Put(a, table.Absent()))
	w.wantCanceled(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Put(item(a.Key, 2), table.Absent())}}))
	w.wantCanceled(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Delete(a.Key, table.Absent())}}))
	w.wantCanceled(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Put(item(a.Key, 2), table.VersionIs(0))}}))
	w.wantStored(a.Key, a)
	w.write(table.Delete(a.Key, table.Any()))
	w.write(table.Put(a, table.VersionIs(0)))
	w.wantStored(a.Key, a)
	w.write(table.Delete(key("NONE"), table.Absent()), table.Delete(key("NONE2"), table.Any()))

	// Of many who create one item at once, exactly one wins.
	if won := w.contend(func(who int) table.Op {
		it := item(key("RACE"), 1)
		it.Actor = fmt.Sprint(who)
		return table.Put(it, table.Absent())
	}); won != 1 {
		w.Fatalf("%d creators of one item won", won)
	}
}

func transactPresent(w *world) {
	a := item(key("A"), 1)
	absent := func(op table.Op) {
		w.Helper()
		w.wantCanceled(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{op}}))
		w.wantStored(a.Key, nil)
	}
	absent(table.Put(a, table.Present()))
	absent(table.Delete(a.Key, table.Present()))
	absent(table.Check(a.Key, table.Present()))
	w.write(put(a))
	a2 := item(a.Key, 2)
	w.write(table.Put(a2, table.Present()))
	w.wantStored(a.Key, a2)
	w.write(table.Delete(a.Key, table.Present()))
	w.wantStored(a.Key, nil)
}

const contenders = 8

// contend runs the operation from several goroutines at once and counts who won.
func (w *world) contend(op func(who int) table.Op) int {
	w.Helper()
	var all sync.WaitGroup
	var won atomic.Int64
	for who := range contenders {
		all.Go(func() {
			err := w.retry(table.Tx{Ops: []table.Op{op(who)}})
			var lost *table.CanceledError
			switch {
			case err == nil:
				won.Add(1)
			case !errors.As(err, &lost):
				w.Errorf("contender %d: %v", who, err)
			}
		})
	}
	all.Wait()
	return int(won.Load())
}

func transactVersionIs(w *world) {
	a := item(key("A"), 1)
	w.wantCanceled(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Put(a, table.VersionIs(1))}}))
	w.write(put(a))
	for _, v := range []uint64{2, 1 << 63, 10} {
		w.wantCanceled(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Put(item(a.Key, 9), table.VersionIs(v))}}))
		w.wantCanceled(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Delete(a.Key, table.VersionIs(v))}}))
	}
	w.wantStored(a.Key, a)

	// N increments by many at once: each version has exactly one winner.
	const rounds = 15
	for round := range uint64(rounds) {
		version := round + 1
		if won := w.contend(func(who int) table.Op {
			it := item(a.Key, version+1)
			it.Actor = fmt.Sprint(who)
			return table.Put(it, table.VersionIs(version))
		}); won != 1 {
			w.Fatalf("version %d has %d winners", version+1, won)
		}
	}
	if v := w.get(a.Key).Version; v != rounds+1 {
		w.Fatalf("version %d after %d increments from 1", v, rounds)
	}
	w.write(table.Delete(a.Key, table.VersionIs(rounds+1)))
	w.wantStored(a.Key, nil)
}

func transactCheckOnly(w *world) {
	fence, target := item(key("FENCE"), 3), item(key("A"), 1)
	w.write(put(fence))
	guarded := func(c table.Condition) error {
		return w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Check(fence.Key, c), put(target)}})
	}
	for _, c := range []table.Condition{table.Absent(), table.VersionIs(2), table.VersionIs(4)} {
		w.wantCanceled(guarded(c))
		w.wantStored(target.Key, nil)
	}
	for _, c := range []table.Condition{table.Present(), table.VersionIs(3)} {
		w.must(guarded(c))
	}
	w.wantStored(target.Key, target)
	w.wantStored(fence.Key, fence)
	w.must(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Check(key("NONE"), table.Absent())}}))
	w.wantStored(key("NONE"), nil)
}

func transactReasons(w *world) {
	w.Run("Model", func(t *testing.T) { w.with(t).againstModel(true) })

	a, b := item(key("A"), 1), item(key("B"), 5)
	b.Body, b.Blob, b.Actor, b.TTL = []byte(`{"é":1}`), []byte{0, 1, 2}, "user:b", 1<<40
	indexed(b, keys.GSI2, "I", "b")
	w.write(put(a), put(b))
	err := w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{
		table.Put(item(a.Key, 2), table.VersionIs(1)), // holds
		table.Put(item(b.Key, 5), table.VersionIs(4)), // another version stands there
		table.Check(key("C"), table.Present()),        // nothing stands there
		put(item(key("D"), 1)),                        // demands nothing
		table.Delete(key("E"), table.VersionIs(1)),    // nothing stands there
		table.Check(keys.Stored("P2", "A"), table.Absent()),
	}})
	reasons := w.reasons(err)
	got := make([]table.Reason, 0, len(reasons))
	for _, r := range reasons {
		if !r.Failed {
			r.Found = nil // told for failed conditions only
		}
		got = append(got, r)
	}
	w.wantSame(got, []table.Reason{{}, {Failed: true, Found: b}, {Failed: true}, {}, {Failed: true}, {}})
	w.wantStored(a.Key, a)
	w.wantStored(key("D"), nil)
}

func transactToken(w *world) {
	create := table.Tx{Token: "0123456789abcdef0123456789abcdef0123", Ops: []table.Op{
		table.Put(item(key("A"), 1), table.Absent()), table.Check(key("B"), table.Absent()),
	}}
	w.must(w.store.Transact(w.Context(), create))
	w.must(w.store.Transact(w.Context(), create)) // A is there now, and that is no failure
	w.write(put(item(key("A"), 2)))
	w.must(w.store.Transact(w.Context(), create))
	w.wantStored(key("A"), item(key("A"), 2))

	other := create
	other.Ops = []table.Op{table.Put(item(key("A"), 3), table.Absent()), table.Check(key("B"), table.Absent())}
	w.wantErr(w.store.Transact(w.Context(), other), table.ErrTokenReused)
	other.Ops = create.Ops[:1]
	w.wantErr(w.store.Transact(w.Context(), other), table.ErrTokenReused)
	w.wantStored(key("A"), item(key("A"), 2))

	again := table.Tx{Ops: []table.Op{put(item(key("A"), 4))}} // without a token each is one of its own
	w.must(w.store.Transact(w.Context(), again))
	again.Token = "another"
	w.must(w.store.Transact(w.Context(), again))
	w.wantStored(key("A"), item(key("A"), 4))
	again.Token = create.Token + "4"
	w.wantLimit(w.store.Transact(w.Context(), again), "token")
}

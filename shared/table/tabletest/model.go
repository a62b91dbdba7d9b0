package tabletest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

func (w *world) with(t *testing.T) *world {
	return &world{T: t, Harness: w.Harness, store: w.store, feed: w.feed}
}

var (
	modelKeys       = []string{"A#", "A#\x00", "A#1", "A#é", "A#🦊", "B#1"}
	modelConditions = []table.Condition{
		table.Any(), table.Absent(), table.Present(), table.VersionIs(1), table.VersionIs(2), table.VersionIs(3),
	}
)

// againstModel carries out random transactions, each drawn sequence in a
// partition of its own, and holds gets and queries against a map. With reasons
// also what refused transactions tell.
func (w *world) againstModel(reasons bool) {
	partition := 0
	rapid.Check(w.T, func(t *rapid.T) {
		partition++
		pk := fmt.Sprintf("MODEL#%d", partition)
		model := map[string]*table.Item{}
		for range rapid.IntRange(1, 6).Draw(t, "transactions") {
			ops := drawOps(t, pk)
			w.stepModel(t, model, ops, reasons)
		}
		for _, sk := range modelKeys {
			got, err := w.store.Get(w.Context(), keys.Stored(pk, sk), table.Strong)
			if d := diff(got, model[sk]); d != "" || err != nil {
				t.Fatalf("get %q: %v\n%s", sk, err, d)
			}
		}
		w.queryModel(t, pk, model)
	})
}

func drawOps(t *rapid.T, pk string) []table.Op {
	sks := rapid.SliceOfNDistinct(rapid.SampledFrom(modelKeys), 1, 4, rapid.ID[string]).Draw(t, "keys")
	ops := make([]table.Op, 0, len(sks))
	for _, sk := range sks {
		k := keys.Stored(pk, sk)
		c := rapid.SampledFrom(modelConditions).Draw(t, "condition")
		switch rapid.IntRange(0, 3).Draw(t, "action") {
		case 0:
			ops = append(ops, table.Delete(k, c))
		case 1:
			ops = append(ops, table.Check(k, c))
		default:
			ops = append(ops, table.Put(item(k, rapid.Uint64Range(1, 3).Draw(t, "version")), c))
		}
	}
	return ops
}

// stepModel carries the operations out on both sides.
func (w *world) stepModel(t *rapid.T, model map[string]*table.Item, ops []table.Op, reasons bool) {
	next := maps.Clone(model)
	failed := make([]bool, len(ops))
	for i, op := range ops {
		failed[i] = !op.If.Holds(model[op.Key.SK()])
		switch op.Action {
		case table.ActionPut:
			next[op.Key.SK()] = op.Item
		case table.ActionDelete:
			delete(next, op.Key.SK())
		case table.ActionCheck:
		}
	}
	err := w.store.Transact(w.Context(), table.Tx{Ops: ops})
	if !slices.Contains(failed, true) {
		if err != nil {
			t.Fatalf("transact: %v", err)
		}
		clear(model)
		maps.Copy(model, next)
		return
	}
	var canceled *table.CanceledError
	if !errors.As(err, &canceled) || len(canceled.Reasons) != len(ops) {
		t.Fatalf("transact: %v, want a reason for each of %d operations", err, len(ops))
	}
	if !reasons {
		return
	}
	for i, r := range canceled.Reasons {
		if r.Failed != failed[i] {
			t.Fatalf("operation %d: failed %v, want %v", i, r.Failed, failed[i])
		}
		if d := diff(r.Found, model[ops[i].Key.SK()]); r.Failed && d != "" {
			t.Fatalf("operation %d shows another item:\n%s", i, d)
		}
	}
}

func (w *world) queryModel(t *rapid.T, pk string, model map[string]*table.Item) {
	q := table.Query{PK: pk, Consistency: table.Strong}
	q.Prefix = rapid.SampledFrom([]string{"A#", "A", "B#", "A#é"}).Draw(t, "prefix")
	q.Limit = rapid.IntRange(1, 4).Draw(t, "limit")
	q.Descending = rapid.Bool().Draw(t, "descending")
	var want []*table.Item
	for _, sk := range slices.Sorted(maps.Keys(model)) {
		if strings.HasPrefix(sk, q.Prefix) {
			want = append(want, model[sk])
		}
	}
	if q.Descending {
		slices.Reverse(want)
	}
	if d := diff(w.all(q), want); d != "" {
		t.Fatalf("query %+v:\n%s", q, d)
	}
}

package embedded_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/embedded"
	"github.com/wardenhq/warden/shared/table/keys"
)

// model is the table as a map, with every query answered by sorting all of it.
type model struct {
	items   map[keys.Raw]*table.Item
	changes int
}

var (
	modelKeys  = rapid.Custom(func(t *rapid.T) keys.Raw { return keys.Stored(modelPK.Draw(t, "pk"), modelSK.Draw(t, "sk")) })
	modelPK    = rapid.SampledFrom([]string{"P", "P#", "P\x00", "PP", "Q"})
	modelSK    = rapid.SampledFrom([]string{"a", "a\x00", "a\x00b", "a#", "a#b", "ab", "b", "\xff", "a\xff", "é"})
	modelItems = rapid.Custom(func(t *rapid.T) *table.Item {
		it := &table.Item{Key: modelKeys.Draw(t, "key"), Type: "t", Version: rapid.Uint64Range(1, 4).Draw(t, "version")}
		for i := range it.Index {
			if rapid.Bool().Draw(t, "indexed") {
				it.Index[i] = keys.StoredIndexKey(modelPK.Draw(t, "index pk"), modelSK.Draw(t, "index sk"))
			}
		}
		return it
	})
	modelConditions = rapid.SampledFrom([]table.Condition{
		table.Any(), table.Any(), table.Any(), table.Absent(), table.Present(), table.VersionIs(1), table.VersionIs(2),
	})
	modelOps = rapid.Custom(func(t *rapid.T) table.Op {
		c := modelConditions.Draw(t, "condition")
		switch rapid.SampledFrom([]table.Action{table.ActionPut, table.ActionPut, table.ActionDelete, table.ActionCheck}).Draw(t, "action") {
		case table.ActionPut:
			return table.Put(modelItems.Draw(t, "item"), c)
		case table.ActionDelete:
			return table.Delete(modelKeys.Draw(t, "key"), c)
		default:
			return table.Check(modelKeys.Draw(t, "key"), c)
		}
	})
	modelTxs = rapid.SliceOfNDistinct(modelOps, 1, 6, func(op table.Op) keys.Raw { return op.Key })
)

func (m *model) transact(ops []table.Op) bool {
	for _, op := range ops {
		if !op.If.Holds(m.items[op.Key]) {
			return false
		}
	}
	for _, op := range ops {
		switch old := m.items[op.Key]; {
		case op.Action == table.ActionPut && (old == nil || same(old, op.Item) != ""):
			m.items[op.Key] = op.Item
			m.changes++
		case op.Action == table.ActionDelete && old != nil:
			delete(m.items, op.Key)
			m.changes++
		}
	}
	return true
}

func (m *model) query(q table.Query) []*table.Item {
	sk := func(it *table.Item) string {
		if q.Index == keys.Table {
			return it.Key.SK()
		}
		return it.Index[q.Index-1].SK()
	}
	var found []*table.Item
	for it := range maps.Values(m.items) {
		pk := it.Key.PK()
		if q.Index != keys.Table {
			pk = it.Index[q.Index-1].PK()
		}
		in := strings.HasPrefix(sk(it), q.Prefix) && (q.To == "" || q.From <= sk(it) && sk(it) <= q.To)
		switch {
		case pk != q.PK || !in:
		case q.Index == keys.Table:
			found = append(found, it)
		default:
			found = append(found, table.Project(it, q.Index))
		}
	}
	slices.SortFunc(found, func(a, b *table.Item) int {
		return cmp.Or(cmp.Compare(sk(a), sk(b)), cmp.Compare(a.Key.PK(), b.Key.PK()), cmp.Compare(a.Key.SK(), b.Key.SK()))
	})
	if q.Descending {
		slices.Reverse(found)
	}
	return found
}

func same(a, b any) string {
	return gocmp.Diff(a, b, cmpopts.EquateEmpty(), cmpopts.EquateComparable(keys.Raw{}, keys.IndexKey{}))
}

var modelQueries = rapid.Custom(func(t *rapid.T) table.Query {
	q := table.Query{
		Index: keys.Index(rapid.IntRange(0, keys.Indexes).Draw(t, "index")), PK: modelPK.Draw(t, "pk"),
		Descending: rapid.Bool().Draw(t, "descending"), Limit: rapid.IntRange(1, 5).Draw(t, "limit"),
	}
	if rapid.Bool().Draw(t, "between") {
		q.From, q.To = modelSK.Draw(t, "from"), modelSK.Draw(t, "to")
	} else if q.Prefix = modelSK.Draw(t, "prefix"); q.Index != keys.Table && rapid.Bool().Draw(t, "all") {
		q.Prefix = ""
	}
	return q
})

// TestTableAndIndexesAgreeWithModel holds queries of the table and of every
// index, page by page, against the model after each of many transactions.
func TestTableAndIndexesAgreeWithModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s, err := embedded.Open(embedded.Options{Dir: embedded.Memory})
		if err != nil {
			r.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				r.Fatal(err)
			}
		}()
		m := &model{items: map[keys.Raw]*table.Item{}}
		for range rapid.IntRange(1, 20).Draw(r, "transactions") {
			ops := modelTxs.Draw(r, "ops")
			err := s.Transact(t.Context(), table.Tx{Ops: ops})
			var canceled *table.CanceledError
			if done := m.transact(ops); done && err != nil || !done && !errors.As(err, &canceled) {
				r.Fatalf("%v, while the model says %v", err, done)
			}
			for _, q := range rapid.SliceOfN(modelQueries, 1, 4).Draw(r, "queries") {
				if d := same(m.query(q), pages(t, r, s, q)); d != "" {
					r.Fatalf("%+v:\n%s", q, d)
				}
			}
		}
		checkModelFeed(t, r, s, m)
	})
}

func pages(t *testing.T, r *rapid.T, s *embedded.Store, q table.Query) []*table.Item {
	var all []*table.Item
	for {
		page, err := s.Query(t.Context(), q)
		if err != nil {
			r.Fatalf("%+v: %v", q, err)
		}
		all = append(all, page.Items...)
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return all
		}
		if len(page.Items) != q.Limit {
			r.Fatalf("%+v: %d items and a cursor", q, len(page.Items))
		}
	}
}

// checkModelFeed replays the feed and finds the table.
func checkModelFeed(t *testing.T, r *rapid.T, s *embedded.Store, m *model) {
	changes, _, err := s.Changes(t.Context(), embedded.Shard, "", 1000)
	if err != nil {
		r.Fatal(err)
	}
	replayed := map[keys.Raw]*table.Item{}
	for i, c := range changes {
		k := cmp.Or(c.New, c.Old).Key
		if d := same(replayed[k], c.Old); d != "" {
			r.Fatalf("old image of change %d:\n%s", i, d)
		}
		if c.Sequence != fmt.Sprintf("%020d", i+1) {
			r.Fatalf("change %d has sequence %s", i, c.Sequence)
		}
		if c.New == nil {
			delete(replayed, k)
		} else {
			replayed[k] = c.New
		}
	}
	if len(changes) != m.changes || !maps.EqualFunc(m.items, replayed, func(a, b *table.Item) bool { return same(a, b) == "" }) {
		r.Fatalf("%d changes make another table than %d", len(changes), m.changes)
	}
}

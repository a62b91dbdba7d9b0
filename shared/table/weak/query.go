package weak

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Query implements table.Reader: each item of the page as a plain read sees it,
// so that a page may hold one half of a transaction and not the other.
func (t *Table) Query(ctx context.Context, q table.Query) (table.Page, error) {
	if err := q.Validate(); err != nil {
		return table.Page{}, err
	}
	after, resumed, err := table.DecodeCursor(q)
	if err != nil {
		return table.Page{}, err
	}
	if err := t.before(ctx, Call{Kind: Query, Query: &q}); err != nil {
		return table.Page{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.overdue()
	limit := q.Limit
	if t.chance(t.knobs.Short) {
		limit = min(limit, 1+t.opt.Rand.IntN(2))
	}
	if len(t.late) == 0 && len(t.past) == 0 {
		return t.innerPage(ctx, q, limit)
	}
	rows, err := t.rows(silent(ctx), q)
	if err != nil {
		return table.Page{}, err
	}
	if resumed {
		rows = slices.DeleteFunc(rows, func(r row) bool { return !r.follows(q, after) })
	}
	page, size := table.Page{}, 0
	for i, r := range rows {
		page.Items = append(page.Items, r.item)
		size += table.Size(r.item)
		if i+1 < len(rows) && (len(page.Items) == limit || size >= table.MaxPageBytes) {
			page.Cursor = table.EncodeCursor(q, r.position(q))
			break
		}
	}
	table.Spend(ctx, table.Cost{Ops: 1, RRU: table.QueryUnits(size, q.Consistency)})
	return page, nil
}

// innerPage is the page beneath, for when everyone sees the newest state.
func (t *Table) innerPage(ctx context.Context, q table.Query, limit int) (table.Page, error) {
	q.Limit = limit
	return t.inner.Query(ctx, q)
}

// row is an item as the query shows it, with its sort key in the table or index.
type row struct {
	sk   string
	key  keys.Raw
	item *table.Item
}

func (r row) compare(o row) int {
	return cmp.Or(cmp.Compare(r.sk, o.sk), cmp.Compare(r.key.PK(), o.key.PK()), cmp.Compare(r.key.SK(), o.key.SK()))
}

func (r row) position(q table.Query) table.Position {
	if q.Index == keys.Table {
		return table.Position{SK: r.sk}
	}
	return table.Position{SK: r.sk, Base: r.key}
}

// follows says whether the row comes after a position.
func (r row) follows(q table.Query, p table.Position) bool {
	if q.Index == keys.Table {
		p.Base = r.key
	}
	c := r.compare(row{sk: p.SK, key: p.Base})
	return c > 0 && !q.Descending || c < 0 && q.Descending
}

// rows are all items that the query shows, in its order. The newest state of
// the range is read from beneath; items that are late or that eventual reads
// may see otherwise are looked at whether or not they are in it.
func (t *Table) rows(ctx context.Context, q table.Query) ([]row, error) {
	newest, err := t.newest(ctx, q)
	if err != nil {
		return nil, err
	}
	asked := q.Consistency
	if q.Index != keys.Table {
		asked = table.Eventual
	}
	var rows []row
	for _, k := range t.candidates(q, newest) {
		it := t.show(k, newest[k], asked)
		if r, in := place(it, q); in {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, row.compare)
	if q.Descending {
		slices.Reverse(rows)
	}
	return rows, nil
}

// newest is the range's newest state.
func (t *Table) newest(ctx context.Context, q table.Query) (map[keys.Raw]*table.Item, error) {
	q.Cursor, q.Limit = "", table.MaxQueryLimit
	found := map[keys.Raw]*table.Item{}
	for {
		page, err := t.inner.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			found[it.Key] = it
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return found, nil
		}
	}
}

// candidates are the items that the query may show, in an order that does not
// depend on a map's: chance is drawn for each in turn.
func (t *Table) candidates(q table.Query, newest map[keys.Raw]*table.Item) []keys.Raw {
	set := make(map[keys.Raw]struct{}, len(newest))
	for k := range newest {
		set[k] = struct{}{}
	}
	elsewhere := func(k keys.Raw) bool { return q.Index == keys.Table && k.PK() != q.PK }
	for k := range t.late {
		if !elsewhere(k) {
			set[k] = struct{}{}
		}
	}
	for k := range t.past {
		if !elsewhere(k) && len(t.recent(k)) > 0 {
			set[k] = struct{}{}
		}
	}
	sorted := make([]keys.Raw, 0, len(set))
	for k := range set {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, func(a, b keys.Raw) int {
		return cmp.Or(cmp.Compare(a.PK(), b.PK()), cmp.Compare(a.SK(), b.SK()))
	})
	return sorted
}

// place is the item's row, if the query covers it.
func place(it *table.Item, q table.Query) (row, bool) {
	if it == nil {
		return row{}, false
	}
	key, pk, sk := it.Key, it.Key.PK(), it.Key.SK()
	if q.Index != keys.Table {
		pk, sk = it.Index[q.Index-1].PK(), it.Index[q.Index-1].SK()
		it = table.Project(it, q.Index)
	}
	covered := strings.HasPrefix(sk, q.Prefix)
	if q.To != "" {
		covered = q.From <= sk && sk <= q.To
	}
	return row{sk, key, it}, it != nil && pk == q.PK && covered
}

package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// entry is an item's place in a partition: its sort key there, and its key in the table.
type entry struct {
	sk  string
	key keys.Raw
}

func (e entry) compare(o entry) int {
	return cmp.Or(cmp.Compare(e.sk, o.sk), cmp.Compare(e.key.PK(), o.key.PK()), cmp.Compare(e.key.SK(), o.key.SK()))
}

// entries are the items of one partition in order.
type entries []entry

func (e *entries) add(x entry) {
	if i, found := slices.BinarySearchFunc(*e, x, entry.compare); !found {
		*e = slices.Insert(*e, i, x)
	}
}

func (e *entries) remove(x entry) {
	if i, found := slices.BinarySearchFunc(*e, x, entry.compare); found {
		*e = slices.Delete(*e, i, i+1)
	}
}

// within are the entries that the query covers, in ascending order.
func (e entries) within(q table.Query) entries {
	from, ends := q.Prefix, func(sk string) bool { return !strings.HasPrefix(sk, q.Prefix) }
	if q.To != "" {
		from, ends = q.From, func(sk string) bool { return sk > q.To }
	}
	start, _ := slices.BinarySearchFunc(e, from, func(x entry, sk string) int { return cmp.Compare(x.sk, sk) })
	rest := e[start:]
	if end := slices.IndexFunc(rest, func(x entry) bool { return ends(x.sk) }); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// Query implements table.Reader.
func (s *Store) Query(ctx context.Context, q table.Query) (table.Page, error) {
	if err := ctx.Err(); err != nil {
		return table.Page{}, err
	}
	if err := q.Validate(); err != nil {
		return table.Page{}, err
	}
	after, resumed, err := table.DecodeCursor(q)
	if err != nil {
		return table.Page{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all entries
	if e := s.ranges[place{q.Index, q.PK}]; e != nil {
		all = e.within(q)
	}
	if q.Descending {
		all = slices.Clone(all)
		slices.Reverse(all)
	}
	if resumed {
		all = rest(all, entry{after.SK, baseKey(q, after)}, q.Descending)
	}
	var page table.Page
	size := 0
	for i, e := range all {
		it := s.items[e.key]
		if q.Index != keys.Table {
			it = table.Project(it, q.Index)
		}
		page.Items = append(page.Items, it)
		size += table.Size(it)
		if i+1 < len(all) && (len(page.Items) == q.Limit || size >= table.MaxPageBytes) {
			page.Cursor = table.EncodeCursor(q, position(q, e))
			break
		}
	}
	table.Spend(ctx, table.Cost{Ops: 1, RRU: table.QueryUnits(size, q.Consistency)})
	return page, nil
}

// rest is what comes after an entry, which need not be there any more.
func rest(all entries, after entry, descending bool) entries {
	i := slices.IndexFunc(all, func(e entry) bool {
		c := e.compare(after)
		return c > 0 && !descending || c < 0 && descending
	})
	if i < 0 {
		return nil
	}
	return all[i:]
}

// baseKey is the key in the table of the item that a page ended at.
func baseKey(q table.Query, p table.Position) keys.Raw {
	if q.Index == keys.Table {
		return keys.Stored(q.PK, p.SK)
	}
	return p.Base
}

func position(q table.Query, e entry) table.Position {
	if q.Index == keys.Table {
		return table.Position{SK: e.sk}
	}
	return table.Position{SK: e.sk, Base: e.key}
}

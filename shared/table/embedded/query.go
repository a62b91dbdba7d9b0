package embedded

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Query is in table.Reader. A page is one snapshot; a query of several pages is none.
func (s *Store) Query(ctx context.Context, q table.Query) (table.Page, error) {
	if err := q.Validate(); err != nil {
		return table.Page{}, err
	}
	at, err := spanOf(q)
	if err != nil {
		return table.Page{}, err
	}
	var p page
	if err := s.view(ctx, func(tx *bbolt.Tx) error { return p.fill(tx, q, at) }); err != nil {
		return table.Page{}, err
	}
	table.Spend(ctx, table.Cost{Ops: 1, RRU: table.QueryUnits(p.size, q.Consistency)})
	answer := table.Page{Items: p.items}
	if p.more {
		answer.Cursor = table.EncodeCursor(q, positionOf(q, p.items[len(p.items)-1]))
	}
	return answer, nil
}

func positionOf(q table.Query, last *table.Item) table.Position {
	if q.Index == keys.Table {
		return table.Position{SK: last.Key.SK()}
	}
	return table.Position{SK: last.Index[q.Index-1].SK(), Base: last.Key}
}

// page is a Query's answer as it grows.
type page struct {
	items []*table.Item
	size  int  // of all items, by table.Size
	more  bool // something follows
}

func (p *page) fill(tx *bbolt.Tx, q table.Query, at span) error {
	items, read := tx.Bucket(bucketItems), tableItem
	scanned := items
	if q.Index != keys.Table {
		scanned, read = tx.Bucket(bucketIndex[q.Index-1]), indexItem
	}
	for k, v := range scan(scanned.Cursor(), at, q.Descending) {
		if len(p.items) == q.Limit {
			p.more = true
			return nil
		}
		it, err := read(items, q, k, v)
		if err != nil {
			return err
		}
		size := table.Size(it)
		if p.size+size > table.MaxPageBytes {
			p.more = true
			return nil
		}
		p.items, p.size = append(p.items, it), p.size+size
	}
	return nil
}

func tableItem(_ *bbolt.Bucket, q table.Query, k, v []byte) (*table.Item, error) {
	sk := k[len(appendEscaped(nil, q.PK))+len(endOfPart):]
	return decodeItem(keys.Stored(q.PK, string(sk)), v)
}

// indexItem finds the item of an index entry: entries hold no copy of it, so a
// write that leaves an item's place in the index alone leaves the index alone.
func indexItem(items *bbolt.Bucket, q table.Query, k, _ []byte) (*table.Item, error) {
	itemKey, ok := parseEntryKey(k)
	if !ok {
		return nil, fmt.Errorf("%w: entry %q of %v", table.ErrFormat, k, q.Index)
	}
	base, ok := parseItemKey(itemKey)
	v := items.Get(itemKey)
	if !ok || v == nil {
		return nil, fmt.Errorf("%w: entry %q of %v leads to no item", table.ErrFormat, k, q.Index)
	}
	it, err := decodeItem(base, v)
	if err != nil {
		return nil, err
	}
	return table.Project(it, q.Index), nil
}

// scan goes through the keys of a span, in byte order or against it.
func scan(c *bbolt.Cursor, at span, descending bool) iter.Seq2[[]byte, []byte] {
	if descending {
		return func(yield func(k, v []byte) bool) {
			step := c.Prev
			if k, _ := c.Seek(at.high); k == nil {
				step = c.Last
			}
			k, v := step()
			for k != nil && bytes.Compare(k, at.low) >= 0 && yield(k, v) {
				k, v = c.Prev()
			}
		}
	}
	return func(yield func(k, v []byte) bool) {
		k, v := c.Seek(at.low)
		for k != nil && bytes.Compare(k, at.high) < 0 && yield(k, v) {
			k, v = c.Next()
		}
	}
}

package httpapi

import (
	"context"

	"github.com/wardenhq/warden/shared/httpapi/wire"
	"github.com/wardenhq/warden/shared/table"
)

// MaxPageBytes is where a page of a list ends early, in bytes of its items.
const MaxPageBytes = 4_000_000

// maxPageReads bounds the queries that one page makes, so that a filter that
// matches little gives a short page and a cursor, and never a long request.
const maxPageReads = 10

// Page is the answer of a list. NextCursor, not the number of items, says
// whether more may follow; it is left out at the end.
type Page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor,omitzero"`
}

// ReadPage makes the page that a call to a list asks for, of the items of a
// query. show turns an item into what the answer has; false leaves it out. The
// port's cursor is the contract's: it is bound to the query, and its partition
// is the tenant's own.
func ReadPage[T any](ctx context.Context, c *Call, store table.Reader, q table.Query, show func(*table.Item) (T, bool, error)) (Page[T], error) {
	b := pageBuilder[T]{limit: c.Limit(), show: show, page: Page[T]{Items: []T{}}}
	q.Cursor, q.Limit = c.Cursor(), b.limit
	for range maxPageReads {
		got, err := store.Query(ctx, q)
		if err != nil {
			return Page[T]{}, err
		}
		taken, err := b.take(got.Items)
		switch {
		case err != nil:
			return Page[T]{}, err
		case taken == 0 && len(got.Items) > 0: // q.Cursor still leads to them
			b.page.NextCursor = q.Cursor
			return b.page, nil
		case taken < len(got.Items):
			b.page.NextCursor = cursorAfter(q, got.Items[taken-1])
			return b.page, nil
		}
		q.Cursor, q.Limit = got.Cursor, b.limit-len(b.page.Items)
		if q.Cursor == "" || q.Limit == 0 {
			break
		}
		if b.leftOut { // a filter is at work: read on in large steps
			q.Limit = MaxLimit
		}
	}
	b.page.NextCursor = q.Cursor
	return b.page, nil
}

// pageBuilder fills a page up to its limits.
type pageBuilder[T any] struct {
	limit   int
	show    func(*table.Item) (T, bool, error)
	page    Page[T]
	size    int // bytes of its items
	leftOut bool
}

// take says how many of the items the page has taken in or left out; fewer than
// all when it is full.
func (b *pageBuilder[T]) take(items []*table.Item) (int, error) {
	for i, it := range items {
		if len(b.page.Items) == b.limit {
			return i, nil
		}
		v, shown, err := b.show(it)
		if err != nil {
			return 0, err
		}
		if !shown {
			b.leftOut = true
			continue
		}
		n, err := encodedSize(v)
		if err != nil {
			return 0, err
		}
		if b.size+n > MaxPageBytes && len(b.page.Items) > 0 {
			return i, nil
		}
		b.size += n
		b.page.Items = append(b.page.Items, v)
	}
	return len(items), nil
}

func encodedSize(v any) (int, error) {
	b, err := wire.Encode(v)
	return len(b) + len(","), err
}

// cursorAfter is the cursor of a page that ends at the item.
func cursorAfter(q table.Query, it *table.Item) string {
	if q.Index == 0 {
		return table.EncodeCursor(q, table.Position{SK: it.Key.SK()})
	}
	return table.EncodeCursor(q, table.Position{SK: it.Index[q.Index-1].SK(), Base: it.Key})
}

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
	page := Page[T]{Items: []T{}}
	limit, size := c.Limit(), 0
	q.Cursor = c.Cursor()
	for range maxPageReads {
		q.Limit = limit - len(page.Items)
		got, err := store.Query(ctx, q)
		if err != nil {
			return Page[T]{}, err
		}
		for i, it := range got.Items {
			v, shown, err := show(it)
			if err != nil {
				return Page[T]{}, err
			}
			if !shown {
				continue
			}
			n, err := encodedSize(v)
			if err != nil {
				return Page[T]{}, err
			}
			if size+n > MaxPageBytes && len(page.Items) > 0 {
				if i > 0 {
					q.Cursor = cursorAfter(q, got.Items[i-1])
				}
				page.NextCursor = q.Cursor
				return page, nil
			}
			size += n
			page.Items = append(page.Items, v)
		}
		q.Cursor = got.Cursor
		if got.Cursor == "" || len(page.Items) == limit {
			break
		}
	}
	page.NextCursor = q.Cursor
	return page, nil
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
